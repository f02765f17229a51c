import type { Pool } from 'pg';
import type { Amounts, Effort } from '../../domain/experiment/effort';
import { effortMeasures, type EffortMeasure } from '../../domain/experiment/experiment';
import { maxAttemptsPerActivity } from '../../domain/rollout/trajectory';
import { expertPurposes } from '../trajectories/trajectories';

/** Effort until the end of an iteration, of which every iteration before it is a part; with every measure. */
export type StoredEffort = { checkpoint: number; effort: Required<Effort> };

/**
 * Returns the effort of a campaign until each of its iterations. It reads the campaign's own rows: in a fork, copied
 * attempts and jobs count and their entries in the ledger of the source do not.
 */
export async function effortOf(pool: Pick<Pool, 'query'>, campaignId: number): Promise<StoredEffort[]> {
  const { rows } = await pool.query<{ iteration: number; measure: EffortMeasure | null } & Amounts>(
    `select i.number as iteration, a.measure, coalesce(a.nominal, 0)::float8 as nominal, coalesce(a.paid, 0)::float8 as paid
     from iterations i
     left join (${amounts.join(' union all ')}) a (iteration, measure, nominal, paid) on a.iteration = i.number
     where i.campaign_id = $1::integer
     order by i.number`,
    [campaignId, expertPurposes.pool],
  );
  const checkpoints: StoredEffort[] = [];
  for (const { iteration, measure, nominal, paid } of rows) {
    const last = checkpoints.at(-1);
    if (last?.checkpoint !== iteration)
      checkpoints.push({ checkpoint: iteration, effort: last ? structuredClone(last.effort) : nothing() });
    if (measure === null) continue; // an iteration without any amount
    const sum = checkpoints.at(-1)!.effort[measure];
    sum.nominal += nominal;
    sum.paid += paid;
  }
  return checkpoints;
}

const nothing = (): Required<Effort> =>
  Object.fromEntries(effortMeasures.map((measure) => [measure, { nominal: 0, paid: 0 }])) as Required<Effort>;

/** Queries for rows of (iteration, measure, nominal, paid) of campaign $1. */
const amounts = [
  `select t.iteration, m.measure, sum(m.amount), sum(m.amount) filter (where t.found_from is null)
   from trajectories t
   cross join lateral (values ('environmentAttempts', 1), ('rolloutTokens', t.prompt_tokens + t.completion_tokens))
     as m (measure, amount)
   where t.campaign_id = $1::integer and t.purpose = 'train'
   group by t.iteration, m.measure`,

  `select r.iteration, m.measure, sum(m.amount), sum(m.amount) filter (where r.found_from is null)
   from training_runs r
   cross join lateral (values ('updates', r.updates::bigint), ('trainedTokens', r.tokens)) as m (measure, amount)
   where r.campaign_id = $1::integer and r.status = 'succeeded'
   group by r.iteration, m.measure`,

  `select iteration, m.measure, sum(m.amount), sum(m.amount) from preference_pairs
   cross join lateral (values ('targetPairs', 1),
     ('expertTargetPairs', (kind = 'expert-target')::integer), ('expertFailurePairs', (kind = 'expert-failure')::integer),
     ('expertPositivePairs', (kind = 'expert-positive')::integer), ('failurePairs', (kind = 'failure-failure')::integer))
     as m (measure, amount)
   where campaign_id = $1::integer and for_role = 'target'
   group by iteration, m.measure`,

  // A dataset has pairs, and demonstrations beside them. A pair has the likelihood of its chosen side where lambda_sft is not 0.
  `select r.iteration, m.measure, sum(m.amount), sum(m.amount) filter (where r.found_from is null)
   from training_runs r
   cross join lateral (
     select count(*) filter (where e.pair_id is null or p.lambda_sft <> 0) as likelihood,
            count(*) filter (where (e.pair_id is null or p.lambda_sft <> 0) and t.purpose = any ($2::text[])) as experts
     from training_examples e
     left join preference_pairs p on p.campaign_id = e.campaign_id and p.id = e.pair_id
     join trajectories t on t.campaign_id = e.campaign_id and t.id = coalesce(e.trajectory_id, p.chosen_id)
     where e.campaign_id = r.campaign_id and e.job_key = r.job_key) x
   cross join lateral (select r.updates * (r.settings ->> 'batch_size')::numeric / r.dataset_rows as times) y
   cross join lateral (values ('likelihoodRows', round(y.times * x.likelihood)), ('expertRows', round(y.times * x.experts)))
     as m (measure, amount)
   where r.campaign_id = $1::integer and r.status = 'succeeded' and r.role = 'target'
     and r.method in ('sft', 'rft', 'dpo', 'target') and r.dataset_rows > 0
   group by r.iteration, m.measure`,

  `select created_iteration, 'admittedTasks', count(*), count(*) from tasks
   where campaign_id = $1::integer and created_iteration > 0 and verdict = 'admitted' and origin <> 'seed'
   group by created_iteration`,

  `select iteration, 'flags', count(*), count(*) from feedback_signals where campaign_id = $1::integer group by iteration`,

  // The entries of a job have its key. The entries of a model call have the key of its request.
  `select w.iteration, case l.unit when 'llm-tokens' then 'modelTokens' when 'usd' then 'usd' else 'gpuSeconds' end,
     sum(l.amount), sum(l.amount) filter (where l.entry = 'settle')
   from ledger l
   join (select job_key as key, iteration from training_runs where campaign_id = $1::integer
     union all
     select 'call/' || call_id || '/' || ordinal, iteration from model_requests where campaign_id = $1::integer) w
     using (key)
   where l.campaign_id = $1::integer and l.entry in ('settle', 'found') and l.unit in ('llm-tokens', 'usd', 'gpu-seconds')
   group by w.iteration, l.unit`,

  // Without the time in which the campaign was paused or parked. Jobs of several agents may run at the same time, so the
  // sum of the seconds of found jobs is the most that they would have added. Found attempts count as if a full batch of
  // them had been played at any time.
  `select s.iteration, 'wallSeconds', s.seconds + s.found, s.seconds
   from (select i.number as iteration,
       extract(epoch from i.ended - i.started_at) - coalesce((select sum(extract(epoch from
           least(w.until, i.ended) - greatest(w.since, i.started_at)))
         from (select kind, recorded_at as since, lead(recorded_at, 1, 'infinity') over (order by id) as until
           from events where campaign_id = $1::integer
             and kind in ('paused', 'parked', 'resumed', 'retried', 'skipped', 'stopping', 'aborting')) w
         where w.kind in ('paused', 'parked') and w.since < i.ended and w.until > i.started_at), 0) as seconds,
       coalesce((select sum(l.amount) from training_runs r
         join ledger l on l.campaign_id = r.campaign_id and l.key = r.job_key and l.entry = 'found' and l.unit = 'seconds'
         where r.campaign_id = $1::integer and r.iteration = i.number), 0)
       + coalesce((select sum(t.seconds) / ${maxAttemptsPerActivity} from trajectories t
         where t.campaign_id = $1::integer and t.iteration = i.number and t.found_from is not null), 0) as found
     from (select i.number, i.started_at, coalesce(i.finished_at, c.finished_at, now()) as ended
       from iterations i join campaigns c on c.id = i.campaign_id where c.id = $1::integer) i) s`,
];
