import type { ClientBase, Pool } from 'pg';

/** Median of the newest jobs or phases, and the speeds between which four of five of them lie. */
export type SpeedOfMany = { count: number; median: number; low: number; high: number };

/** Parts of a spec that a campaign must equal, so that its speeds hold for this spec. */
export type SpeedKey = { policy: object; compute: object; init: object; environment: string };

/** Older ones say less of the machine as it is now. */
const newest = 20;

/** Speeds of earlier campaigns on this stack. Copied policies and attempts have none. */
export const measuredSpeedStore = (pool: Pool) => ({
  /** Returns the training speed of equal policies, in tokens per second of a job after its start; null without a job. */
  async findTraining({ policy, compute, init }: Omit<SpeedKey, 'environment'>): Promise<SpeedOfMany | null> {
    return speedOf(
      pool,
      `select (select sum(1) / sum(1 / rate) from (select (p.facts ->> 'tokens_per_s')::float8 as rate
           from training_progress p where p.job_key = r.job_key) f where rate > 0) as speed
       from training_runs r join campaigns c on c.id = r.campaign_id
       where r.status = 'succeeded' and r.found_from is null and r.method not in ('import', 'init')
         and c.spec -> 'policy' @> $1::jsonb and c.spec #> '{training,init}' @> $2::jsonb
         and c.spec -> 'compute' @> $3::jsonb
       order by r.finished_at desc limit ${newest}`,
      [policy, init, compute],
    );
  },

  /** Returns the attempts per second of the rollout phases of equal policies; null without a phase. */
  async findAttempts({ policy, init, environment }: Omit<SpeedKey, 'compute'>): Promise<SpeedOfMany | null> {
    return speedOf(
      pool,
      `select count(*) / extract(epoch from p.finished_at - p.started_at)::float8 as speed
       from phases p join campaigns c on c.id = p.campaign_id
       join trajectories t on t.campaign_id = p.campaign_id and t.iteration = p.iteration and t.purpose = 'train'
       where p.phase = 'rollout' and p.finished_at > p.started_at and c.spec -> 'policy' @> $1::jsonb
         and c.spec #> '{training,init}' @> $2::jsonb and c.environment = $3
       group by p.campaign_id, p.iteration, p.phase
       having bool_and(t.found_from is null)
       order by p.finished_at desc limit ${newest}`,
      [policy, init, environment],
    );
  },
});

/** A model of a provider in one of its purposes. */
export type AskedFor = { purpose: string; provider: string; model: string };

/** Returns the mean seconds of the newest answered calls of each model and purpose; models without a call have none. */
export async function listCallSeconds(
  client: Pool | ClientBase,
  asked: readonly AskedFor[],
): Promise<{ purpose: string; seconds: number; calls: number }[]> {
  const { rows } = await client.query<{ purpose: string; seconds: number; calls: number }>(
    `select a.purpose, avg(c.seconds)::float8 as seconds, count(*)::integer as calls
     from jsonb_to_recordset($1::jsonb) as a (purpose text, provider text, model text)
     cross join lateral (select seconds from model_calls c
       where c.purpose = a.purpose and c.provider = a.provider and c.model = a.model
       order by recorded_at desc limit ${newest * 5}) c
     group by a.purpose`,
    [JSON.stringify(asked)],
  );
  return rows;
}

export type MeasuredSpeedStore = ReturnType<typeof measuredSpeedStore>;

async function speedOf(pool: Pool, speeds: string, values: unknown[]): Promise<SpeedOfMany | null> {
  const { rows } = await pool.query<{ count: number; found: number[] | null }>(
    `select count(speed)::integer as count, percentile_cont(array[0.1, 0.5, 0.9]) within group (order by speed) as found
     from (${speeds}) s`,
    values,
  );
  const { count, found } = rows[0]!;
  return count === 0 ? null : { count, low: found![0]!, median: found![1]!, high: found![2]! };
}
