/** Gauges that one query fills: it returns the labels as columns, and a value under the name of each gauge. */
export type GaugeGroup = {
  labels: readonly string[];
  /** Help texts by name without the prefix `coevolve_`. A null value leaves the gauge out. */
  gauges: Readonly<Record<string, string>>;
  rows: string;
};

/** Campaigns that run, wait or ended less than a day ago. Gauges of others would stay in every query for ever. */
const shown = `reporting.campaigns c where (c.finished_at is null or c.finished_at > now() - interval '24 hours')`;

const trainerNumbers = {
  loss: 'mean loss since the update before',
  grad_norm: 'norm of the gradient before clipping',
  learning_rate: 'learning rate',
  margin: 'mean difference of the implicit rewards of chosen and rejected side',
  accuracy: 'share of pairs whose chosen side is more likely',
  reward: 'mean reward of the batch',
  kl: 'divergence from the initial policy in nats per token',
  tokens: 'tokens trained on so far, without padding',
  tokens_per_s: 'tokens per second',
  memory_bytes: 'highest allocated memory',
  mfu: 'share of the peak FLOPs of the device',
  eta_s: 'estimated seconds until the end',
};

/**
 * Gauges of state, all from committed rows of the views: two servers answer the same, and a restart forgets nothing. A label is
 * never a task, an attempt, a policy or a text of a model, so that the number of series stays small.
 */
export const gaugeGroups: readonly GaugeGroup[] = [
  {
    labels: ['campaign', 'recipe', 'environment', 'spec_hash'],
    gauges: { campaign_info: '1 for each campaign, with its properties as labels' },
    rows: `select c.name as campaign, c.recipe, c.environment, c.spec_hash, 1 as campaign_info from ${shown}`,
  },
  {
    labels: ['campaign', 'state', 'code'],
    gauges: {
      campaign_state: '1 for the current state; the code is the reason of a parked campaign (docs/parked.md)',
      campaign_waiting_seconds: 'seconds since which a paused or parked campaign waits',
    },
    rows: `select c.name as campaign, c.status as state, coalesce(c.waits_code, '') as code, 1 as campaign_state,
      extract(epoch from now() - c.waits_since) as campaign_waiting_seconds from ${shown}`,
  },
  {
    labels: ['campaign'],
    gauges: {
      campaign_iteration: 'number of the last iteration that began; 0 is the supervised start',
      campaign_iterations: 'planned iterations after the supervised start',
      campaign_progress_age_seconds: 'seconds since the last stored row of a campaign that has not ended',
      campaign_gpu_seconds: 'seconds of GPUs of its training jobs',
    },
    rows: `select c.name as campaign, c.iteration as campaign_iteration, c.iterations as campaign_iterations,
      case when c.finished_at is null then extract(epoch from now() - c.progress_at) end as campaign_progress_age_seconds,
      c.gpu_seconds as campaign_gpu_seconds from ${shown}`,
  },
  {
    labels: ['campaign', 'phase'],
    gauges: { campaign_phase_seconds: 'seconds since the current phase began' },
    rows: `select c.name as campaign, c.phase, extract(epoch from now() - c.phase_started_at) as campaign_phase_seconds
      from ${shown} and c.finished_at is null and c.phase is not null`,
  },
  {
    labels: ['campaign', 'set', 'role'],
    gauges: {
      heldout_success: 'share of solved tasks at the newest evaluation of the role',
      heldout_success_low: 'lower end of its interval',
      heldout_success_high: 'upper end of its interval',
    },
    rows: `select distinct on (c.name, e.evaluation_set, e.role) c.name as campaign, e.evaluation_set as set, e.role,
      e.success as heldout_success, e.success_low as heldout_success_low, e.success_high as heldout_success_high
      from reporting.evaluations e join (select c.id, c.name from ${shown}) c on c.id = e.campaign_id
      order by c.name, e.evaluation_set, e.role, e.iteration desc`,
  },
  {
    labels: ['campaign', 'purpose', 'outcome'],
    gauges: { attempts: 'stored attempts of the current iteration' },
    rows: `select c.name as campaign, a.purpose, a.outcome, count(*) as attempts
      from (select c.id, c.name, c.iteration from ${shown} and c.finished_at is null) c
      join reporting.attempts a on a.campaign_id = c.id and a.iteration = c.iteration
      group by c.name, a.purpose, a.outcome`,
  },
  {
    labels: ['campaign', 'unit'],
    gauges: { budget_committed: 'settled and reserved amount', budget_limit: 'highest amount; absent without a limit' },
    rows: `select c.name as campaign, b.unit, b.committed as budget_committed, b.limit as budget_limit
      from reporting.budgets b join (select c.id, c.name from ${shown}) c on c.id = b.campaign_id`,
  },
  {
    labels: ['campaign', 'iteration', 'role', 'method', 'backend'],
    gauges: {
      training_update: 'finished updates of a running job',
      training_idle_seconds:
        'seconds since its last update, or since it got the attempts of a step; absent while it waits for attempts',
      ...Object.fromEntries(Object.entries(trainerNumbers).map(([name, help]) => [`training_${name}`, help])),
    },
    rows: `select c.name as campaign, r.iteration, r.role, r.method, r.backend, newest.update as training_update,
      case when r.method not in ('grpo', 'ppo') or step.submitted_at is not null
        then extract(epoch from now() - greatest(newest.recorded_at, step.submitted_at)) end as training_idle_seconds,
      ${Object.keys(trainerNumbers)
        .map((name) => `(newest.facts ->> '${name}')::float8 as training_${name}`)
        .join(', ')}
      from (select c.id, c.name from ${shown} and c.finished_at is null) c
      join reporting.training_runs r on r.campaign_id = c.id and r.status = 'submitted'
      left join lateral (select t.update, t.facts, t.recorded_at from reporting.training_curves t
        where t.training_run = r.id order by t.update desc limit 1) newest on true
      left join lateral (select max(s.submitted_at) as submitted_at from reporting.rl_steps s
        where s.training_run = r.id and s.finished_at is null) step on true`,
  },
];
