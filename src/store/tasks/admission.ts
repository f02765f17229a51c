import type { Pool, PoolClient } from 'pg';
import type { Decision } from '../../domain/tasks/admission/admit';
import type { StageVerdict } from '../../domain/tasks/admission/candidate';
import type { Retirement } from '../../domain/tasks/selection/retire';
import { lockEpoch, type IterationKey } from '../database/epoch';
import { inTransaction } from '../database/pool';
import { toJson } from '../database/postgres-text';
import { sql } from '../database/sql';

/** Diversity and relevance of an iteration's admitted tasks (arXiv:2604.15840, eq. 2 to 4). */
export type DiversityRound = {
  iteration: number;
  /** Encoder of the embeddings: rounds of different encoders cannot be compared. */
  encoder: string;
  tasks: number;
  /** k of SR@k. */
  neighbours: number;
  /** SR@k; null for fewer than two tasks. */
  similarity: number | null;
  /** ED to the held-out tasks; null without tasks on either side. */
  energyDistance: number | null;
  relativeDistance: number | null;
  collapsed: boolean;
};

export type SolvedCount = { solved: number; scored: number };

export type RetiredTask = { taskId: string; iteration: number; reason: string; passRate: number };

/** Candidates per transaction: at most one second of work is lost when a worker is killed. */
const chunkSize = 200;

export const admissionStore = (pool: Pool) => ({
  /**
   * Stores decisions with their trails, except those that wait for approval. A decided candidate keeps its verdict and
   * trail, so that a retry continues after the last chunk; a candidate that was rejected when it was proposed gets its
   * trail. If the pool already contains an equal task, the candidate is rejected, and its trail records the reason.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async decide(key: IterationKey, decisions: readonly Decision[]): Promise<void> {
    const decided = decisions.filter(({ outcome }) => outcome !== 'waiting');
    for (let from = 0; from < decided.length; from += chunkSize)
      await inTransaction(pool, (client) => decideChunk(client, key, decided.slice(from, from + chunkSize)));
  },

  /** Counts the solver's scored attempts at each task planned for them in an iteration, and those with a reward of 1. */
  async countSolved({ campaignId, iteration }: IterationKey): Promise<Map<string, SolvedCount>> {
    const { rows } = await pool.query<SolvedCount & { taskId: string }>(sql`
      select p.task_id as "taskId", count(t.reward)::integer as scored,
        count(*) filter (where t.reward = 1)::integer as solved
      from planned_tasks p
      left join trajectories t on t.campaign_id = p.campaign_id and t.iteration = p.iteration
        and t.task_id = p.task_id
        and t.purpose = p.purpose
      where p.campaign_id = ${campaignId}::integer and p.iteration = ${iteration}::smallint and p.purpose = 'solving'
      group by p.task_id`);
    return new Map(rows.map(({ taskId, ...counts }) => [taskId, counts]));
  },

  /** Lists the stage verdicts of each candidate in order, of all candidates or of `taskIds`. */
  async listTrails(campaignId: number, taskIds?: readonly string[]): Promise<Map<string, StageVerdict[]>> {
    const { rows } = await pool.query<{ taskId: string; trail: StageVerdict[] }>(sql`
      select task_id as "taskId", jsonb_agg(jsonb_build_object('stage', stage, 'passed', passed, 'reason', reason,
        'detail', detail) order by ordinal) as trail
      from reporting.verdicts
      where campaign_id = ${campaignId}::integer and (${taskIds ?? null}::text[] is null
        or task_id = any (${taskIds ?? null}::text[]))
      group by task_id`);
    return new Map(rows.map(({ taskId, trail }) => [taskId, trail]));
  },

  /** Returns the tasks that the operator rejected in the iteration's approval; null before the approval. */
  async findApproval(campaignId: number, iteration: number): Promise<{ rejected: Set<string> } | null> {
    const { rows } = await pool.query<{ rejected: string[] | null }>(sql`
      select detail -> 'rejected' as rejected from events
      where campaign_id = ${campaignId}::integer and kind = 'approved'
        and detail ->> 'iteration' = ${iteration}::integer::text
      order by id limit 1`);
    return rows[0] ? { rejected: new Set(rows[0].rejected ?? []) } : null;
  },

  /**
   * Stores an iteration's diversity round, and an event if its tasks collapsed; a second call changes nothing.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  saveDiversity: (key: IterationKey, round: Omit<DiversityRound, 'iteration'>): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockEpoch(client, key);
      await client.query(sql`
        with stored as (
          insert into diversity_rounds (campaign_id, iteration, encoder, tasks, neighbours, similarity,
            energy_distance, relative_distance, collapsed)
          values (${key.campaignId}::integer, ${key.iteration}::smallint, ${round.encoder}, ${round.tasks}::integer,
            ${round.neighbours}::smallint, ${round.similarity}::float8, ${round.energyDistance}::float8,
            ${round.relativeDistance}::float8, ${round.collapsed})
          on conflict do nothing
          returning *
        )
        insert into events (campaign_id, iteration, kind, actor, detail)
        select campaign_id, iteration, 'collapse', 'coevolve',
          jsonb_build_object('similarity', similarity, 'neighbours', neighbours, 'tasks', tasks, 'encoder', encoder)
        from stored where collapsed`);
    }),

  listDiversity: (campaignId: number): Promise<DiversityRound[]> => listDiversityRounds(pool, campaignId),

  /**
   * Retires tasks from this iteration on; a retired task keeps its first iteration and reason.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  retire: (key: IterationKey, retirements: readonly Retirement[]): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockEpoch(client, key);
      await client.query(sql`
        insert into task_retirements (campaign_id, task_id, iteration, reason, pass_rate)
        select ${key.campaignId}::integer, r."taskId", ${key.iteration}::smallint, r.reason, r."meanReward"
        from jsonb_to_recordset(${JSON.stringify(retirements)}::jsonb) as r ("taskId" text, reason text,
          "meanReward" float8)
        on conflict do nothing`);
    }),

  /** Lists the retired tasks, which the iteration no longer draws, by id. */
  async listRetired(campaignId: number, iteration: number): Promise<Map<string, RetiredTask>> {
    const { rows } = await pool.query<RetiredTask>(sql`
      select task_id as "taskId", iteration, reason, pass_rate as "passRate" from task_retirements
      where campaign_id = ${campaignId}::integer and iteration <= ${iteration}::smallint order by task_id`);
    return new Map(rows.map((row) => [row.taskId, row]));
  },
});

/** Lists the diversity rounds of a campaign by iteration. */
export async function listDiversityRounds(
  client: Pick<PoolClient, 'query'>,
  campaignId: number,
): Promise<DiversityRound[]> {
  const { rows } = await client.query<DiversityRound>(sql`
    select iteration, encoder, tasks, neighbours, similarity, energy_distance as "energyDistance",
      relative_distance as "relativeDistance", collapsed
    from diversity_rounds where campaign_id = ${campaignId}::integer order by iteration`);
  return rows;
}

/** Decides under the iteration's lock, so that no equal task can be admitted in between. */
async function decideChunk(client: PoolClient, key: IterationKey, decisions: readonly Decision[]): Promise<void> {
  await lockEpoch(client, key);
  const overruled = await updateVerdicts(client, key, decisions);
  await insertTrails(
    client,
    key,
    decisions.map((decision) => withGuard(decision, overruled.get(decision.id))),
  );
}

type Overruled = { reason: string; twin: string | null };

/**
 * Returns the candidates that are rejected although their decision was to admit, because the pool has equal content.
 */
async function updateVerdicts(
  client: PoolClient,
  { campaignId }: IterationKey,
  decisions: readonly Decision[],
): Promise<Map<string, Overruled>> {
  const { rows } = await client.query<{ id: string; overruled: boolean } & Overruled>(sql`
    with verdict as (
      select t.campaign_id, t.id, d.reason is null as foreseen, twin.id as twin,
        case when d.reason is not null then d.reason
             when twin.split = 'held-out' then 'held-out'
             when twin.id is not null then 'duplicate'
             when row_number() over (partition by t.content_key, d.reason is null order by d.ordinal) > 1
               then 'duplicate' end as reason
      from jsonb_to_recordset(${JSON.stringify(decisions.map(({ id, reason }, ordinal) => ({ id, reason, ordinal })))}::jsonb) as d (id text, reason text, ordinal integer)
      join tasks t on t.campaign_id = ${campaignId}::integer and t.id = d.id
      left join tasks twin on twin.campaign_id = t.campaign_id and twin.content_key = t.content_key
        and twin.verdict = 'admitted' and twin.id <> t.id
      where t.verdict = 'candidate'
    )
    update tasks t
    set verdict = case when v.reason is null then 'admitted' else 'rejected' end, reason = v.reason
    from verdict v
    where t.campaign_id = v.campaign_id and t.id = v.id
    returning t.id, v.reason, v.twin, v.foreseen and v.reason is not null as overruled`);
  return new Map(rows.filter(({ overruled }) => overruled).map(({ id, ...why }) => [id, why]));
}

function withGuard(decision: Decision, overruled: Overruled | undefined): Decision {
  if (!overruled) return decision;
  const { reason, twin } = overruled;
  const stage = reason === 'held-out' ? 'decontaminated' : 'unique';
  const detail = { by: 'content', ...(twin !== null && { with: twin }) };
  return { ...decision, trail: [...decision.trail, { stage, passed: false, reason, detail }] };
}

/** Stores trails; the first trail of a task is kept. */
async function insertTrails(
  client: PoolClient,
  { campaignId }: IterationKey,
  decisions: readonly Decision[],
): Promise<void> {
  const verdicts = decisions.flatMap(({ id, trail }) =>
    trail.map((verdict, ordinal) => ({ ...verdict, taskId: id, ordinal })),
  );
  await client.query(sql`
    insert into admission_verdicts (campaign_id, task_id, ordinal, stage, passed, reason, detail)
    select ${campaignId}::integer, v."taskId", v.ordinal, v.stage, v.passed, v.reason, v.detail
    from jsonb_to_recordset(${toJson(verdicts)}::jsonb) as v ("taskId" text, ordinal smallint, stage text,
      passed boolean, reason text, detail jsonb)
    where exists (select from tasks t
        where t.campaign_id = ${campaignId}::integer and t.id = v."taskId" and t.verdict <> 'candidate')
      and not exists (select from admission_verdicts stored
        where stored.campaign_id = ${campaignId}::integer and stored.task_id = v."taskId")`);
}

export type AdmissionStore = ReturnType<typeof admissionStore>;
