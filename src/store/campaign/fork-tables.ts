const ofIteration = 'r.campaign_id = $2::integer and r.iteration <= $3::smallint';

const ofParent = (parent: string, reference: string, iteration = 'p.iteration'): string =>
  `r.campaign_id = $2::integer and exists (select from ${parent} p
     where p.campaign_id = r.campaign_id and p.id = r.${reference} and ${iteration} <= $3::smallint)`;

const ofRun = `exists (select from training_runs p
     where p.job_key = r.job_key and p.campaign_id = $2::integer and p.iteration <= $3::smallint)`;

const ofRunOfContext = `r.campaign_id = $2::integer and exists (select from exploration_runs p
     join exploration_contexts c on c.campaign_id = p.campaign_id and c.id = p.context_id
     where p.campaign_id = r.campaign_id and p.id = r.run_id and c.iteration <= $3::smallint)`;

/**
 * What a fork takes over of each table: which rows `r` of the source, campaign $2, belong to its iterations up to $3.
 * Rows of a finished iteration change no more.
 */
export const copiedTables = {
  iterations: 'r.campaign_id = $2::integer and r.number <= $3::smallint',
  phases: ofIteration,
  tasks: 'r.campaign_id = $2::integer and r.created_iteration <= $3::smallint',
  planned_tasks: ofIteration,
  admission_verdicts: ofParent('tasks', 'task_id', 'p.created_iteration'),
  task_retirements: ofIteration,
  diversity_rounds: ofIteration,
  trajectories: ofIteration,
  trajectory_turns: ofParent('trajectories', 'trajectory_id'),
  attempt_faults: ofParent('trajectories', 'trajectory_id'),
  attempt_resumes: ofIteration,
  feedback_signals: ofIteration,
  exploration_contexts: ofIteration,
  exploration_runs: ofParent('exploration_contexts', 'context_id'),
  exploration_turns: ofRunOfContext,
  abstractions: ofParent('exploration_contexts', 'context_id'),
  model_calls: ofIteration,
  judgements: ofIteration,
  judge_calibrations: ofIteration,
  calibration_items: ofIteration,
  preference_pairs: ofIteration,
  dropped_pairs: ofIteration,
  training_runs: ofIteration,
  rl_steps: ofRun,
  training_progress: ofRun,
  training_examples: `r.campaign_id = $2::integer and ${ofRun}`,
  policies: ofIteration,
  promotions: ofIteration,
  promotion_approvals: ofIteration,
  evaluations: ofIteration,
} as const;

/** What a fork does not take over, and why. */
export const skippedTables = {
  campaigns: 'the fork has a row of its own',
  active_policies: 'made of the promotions up to the iteration: the source may have moved on',
  turn_journal: 'attempts in flight: a finished iteration has none',
  ledger: 'the fork has spent nothing',
  budgets: 'made of its spec when it first spends',
  model_requests: 'reservations and payments, which the ledger books',
  events: 'what was done to the source was not done to the fork',
  providers: 'the pace of all campaigns together',
} as const;
