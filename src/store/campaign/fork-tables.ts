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
 * Condition per table for the rows `r` that a fork copies from campaign $2, up to iteration $3. Rows of a finished
 * iteration are final.
 */
export const copiedTables = {
  iterations: 'r.campaign_id = $2::integer and r.number <= $3::smallint',
  phases: ofIteration,
  tasks: 'r.campaign_id = $2::integer and r.created_iteration <= $3::smallint',
  planned_tasks: ofIteration,
  admission_verdicts: ofParent('tasks', 'task_id', 'p.created_iteration'),
  task_retirements: ofIteration,
  diversity_rounds: ofIteration,
  matches: ofIteration,
  function_lists: 'r.campaign_id = $2::integer',
  trajectories: ofIteration,
  trajectory_turns: ofParent('trajectories', 'trajectory_id'),
  attempt_faults: ofParent('trajectories', 'trajectory_id'),
  attempt_resumes: ofIteration,
  attempt_groups: ofIteration,
  action_patterns: ofIteration,
  feedback_signals: ofIteration,
  signal_rates: ofIteration,
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

/** Tables that a fork does not copy, with the reason. */
export const skippedTables = {
  orders: 'they name the source, and a repeated request must not find its order again',
  campaigns: 'the fork inserts a new row',
  active_policies: 'derived from the promotions up to the iteration, because the source may have promoted since',
  turn_journal: 'open attempts: a finished iteration has none',
  ledger: 'the fork has spent nothing',
  budgets: 'created from the spec at the first reservation',
  model_requests: 'reservations and payments of the source, which its ledger books',
  events: 'operator commands and events of the source only',
  providers: 'rate limits shared by all campaigns',
} as const;
