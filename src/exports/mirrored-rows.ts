import type { Pool } from 'pg';

export type MirroredCampaign = { id: number; name: string; createdAt: number; ended: boolean };

/** Prefix of the names of its points, axis, step, time in seconds since 1970, and numbers by name. */
export type MirroredRow = [prefix: string, axis: string, step: number, at: number, values: Record<string, number>];

type Row = { prefix: string; axis: string; step: number; at: number; values: Record<string, unknown> };

/** Lists the named campaigns, all where `names` is empty, without the numbers in `except`. */
export async function listMirrored(
  reader: Pool,
  names: readonly string[],
  except: readonly number[],
): Promise<MirroredCampaign[]> {
  const { rows } = await reader.query<MirroredCampaign>(
    `select id, name, extract(epoch from created_at)::float8 as "createdAt", finished_at is not null as ended
     from reporting.campaigns
     where (cardinality($1::text[]) = 0 or name = any ($1)) and not id = any ($2::integer[])
     order by id`,
    [names, except],
  );
  return rows;
}

/** Returns the settings by which trackers compare runs. */
export async function mirroredConfig(reader: Pool, campaignId: number): Promise<object> {
  const { rows } = await reader.query<object>(
    `select recipe, environment, seed, spec_hash, spec from reporting.campaigns where id = $1`,
    [campaignId],
  );
  return rows[0]!;
}

/** Lists the iterations that are finished, so that they get no further rows. */
export async function listClosed(reader: Pool, campaignId: number): Promise<number[]> {
  const { rows } = await reader.query<{ iteration: number }>(
    'select iteration from reporting.iterations where campaign_id = $1 and finished_at is not null',
    [campaignId],
  );
  return rows.map(({ iteration }) => iteration);
}

/** Lists the numbers of the committed rows of a campaign, without the iterations in `except`. */
export async function* listMirroredRows(
  reader: Pool,
  campaignId: number,
  except: readonly number[],
): AsyncGenerator<MirroredRow> {
  for (const query of queries) {
    const { rows } = await reader.query<Row>(query, [campaignId, except]);
    for (const { prefix, axis, step, at, values } of rows) {
      const numbers = numbersOf(values);
      if (Object.keys(numbers).length > 0) yield [prefix, axis, step, at, numbers];
    }
  }
}

/** Numbers by name in the order of the names. Every tracker accepts letters, digits and `_.-`. */
const numbersOf = (values: Record<string, unknown>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(values)
      .flatMap(([name, value]) => (typeof value === 'number' ? [[nameOf(name), value] as const] : []))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );

const nameOf = (name: string): string => name.replaceAll(/[^\w.-]+/g, '_');

/** Steps of a role's earlier jobs: each is known before the next job begins, so the step of a row never changes. */
const earlier = (column: 'updates' | 'steps'): string =>
  `(select coalesce(sum(b.${column}), 0)::integer from reporting.training_runs b
    where b.campaign_id = r.campaign_id and b.role = r.role and b.iteration < r.iteration)`;

/**
 * Rows that are never changed once they are listed: `prefix`, `step` and `at` identify one. $1: campaign; $2: iterations to
 * leave out.
 */
const queries: readonly string[] = [
  `select 'evaluation/' || evaluation_set || '/' || role as prefix, 'iteration' as axis, iteration as step,
     extract(epoch from recorded_at)::float8 as at, to_jsonb(e) - 'campaign_id' - 'iteration' as values
   from reporting.evaluations e where campaign_id = $1 and not iteration = any ($2::smallint[])
   order by iteration, evaluation_set`,
  `select 'phase/' || phase as prefix, 'iteration' as axis, iteration as step,
     extract(epoch from finished_at)::float8 as at, jsonb_build_object('seconds', seconds) || result as values
   from reporting.phases
   where campaign_id = $1 and not iteration = any ($2::smallint[]) and finished_at is not null
   order by iteration, finished_at`,
  // Attempts are many, so they are read once: when their iteration is closed.
  `select 'rollout/' || a.role as prefix, 'iteration' as axis, i.iteration as step,
     extract(epoch from i.finished_at)::float8 as at,
     jsonb_build_object('attempts', count(*), 'scored', count(a.reward), 'mean_reward', avg(a.reward),
       'success', avg((a.reward = 1)::integer), 'mean_turns', avg(a.turns),
       'mean_answer_tokens', avg(a.completion_tokens)) as values
   from reporting.iterations i
   join reporting.attempts a on a.campaign_id = $1 and a.iteration = i.iteration and a.purpose = 'train'
   where i.campaign_id = $1 and not i.iteration = any ($2::smallint[]) and i.finished_at is not null
     and a.role is not null
   group by a.role, i.iteration, i.finished_at order by i.iteration, a.role`,
  `select 'spending' as prefix, 'iteration' as axis, i.iteration as step,
     extract(epoch from i.finished_at)::float8 as at, jsonb_object_agg(s.unit, s.amount) as values
   from reporting.iterations i
   cross join lateral (select unit, sum(amount) as amount from reporting.spending
     where campaign_id = $1 and entry = 'settle' and recorded_at <= i.finished_at group by unit) s
   where i.campaign_id = $1 and not i.iteration = any ($2::smallint[]) and i.finished_at is not null
   group by i.iteration, i.finished_at order by i.iteration`,
  `select 'rl/' || r.role as prefix, 'rl/' || r.role || '/step' as axis, ${earlier('steps')} + s.step as step,
     extract(epoch from s.finished_at)::float8 as at, s.metrics || jsonb_build_object('iteration', r.iteration) as values
   from reporting.training_runs r join reporting.rl_steps s on s.campaign_id = $1 and s.training_run = r.id
   where r.campaign_id = $1 and not r.iteration = any ($2::smallint[]) and s.finished_at is not null
   order by r.iteration, r.role, s.step`,
  `select 'train/' || r.role as prefix, 'train/' || r.role || '/update' as axis, ${earlier('updates')} + c.update as step,
     extract(epoch from c.recorded_at)::float8 as at, c.facts || jsonb_build_object('iteration', r.iteration) as values
   from reporting.training_runs r join reporting.training_curves c on c.campaign_id = $1 and c.training_run = r.id
   where r.campaign_id = $1 and not r.iteration = any ($2::smallint[])
   order by r.iteration, r.role, c.update`,
];
