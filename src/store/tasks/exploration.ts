import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import type { ExplorationOutcome, ModelFailure, Reflection } from '../../domain/tasks/exploration';
import { explorationContextId, explorationRunId } from '../../domain/campaign/ids';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { lockEpoch, epochError, type IterationKey } from '../database/epoch';
import { storeFunctions, withStoredFunctions } from '../database/function-lists';
import { inTransaction } from '../database/pool';
import { toJson, toText } from '../database/postgres-text';
import type { ChatMessage } from '../../domain/rollout/turn';
import { sql } from '../database/sql';

/** A context to explore; without a signal its exploration is unguided. */
export type NewContext = { taskId: string; signalId: string | null; trajectoryId: string | null };

export type ContextRow = NewContext & {
  id: string;
  iteration: number;
  aim: SynthesisAim;
  ordinal: number;
  refill: number;
  status: 'planned' | 'reflected' | 'failed';
  context: Reflection | null;
  failure: ModelFailure | null;
};

export type ExplorationTurn = {
  action: string;
  /** The explorer's thinking before the action; null without any. */
  thinking: string | null;
  observation: ChatMessage[];
  callId: string;
};

export type NewRun = {
  contextId: string;
  round: number;
  seed: number;
  outcome: ExplorationOutcome;
  fault: string | null;
  opening: ChatMessage[];
  /** In [0, 1]; null when the session did not end. */
  reward: number | null;
  turns: ExplorationTurn[];
};

export type RunSummary = { id: string; outcome: ExplorationOutcome; turns: number };

export type RunRow = NewRun & { id: string };

export type AbstractionRow = {
  contextId: string;
  /** Count of stored candidates, including those rejected immediately. */
  candidates: number;
  failure: ModelFailure | null;
  callId: string;
};

export const explorationStore = (pool: Pool) => ({ ...contextStore(pool), ...runStore(pool) });

const contextStore = (pool: Pool) => ({
  /**
   * Stores the contexts of an aim, or of one refill, once and in this order; a second call changes nothing.
   *
   * @param later the refill, from 1, and the ordinal of its first context
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  planContexts: (
    key: IterationKey,
    aim: SynthesisAim,
    contexts: readonly NewContext[],
    { refill, from } = { refill: 0, from: 0 },
  ): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockEpoch(client, key);
      const numbered = contexts.map((context, n) => ({
        ...context,
        ordinal: from + n,
        id: explorationContextId(key.iteration, aim, from + n),
      }));
      await client.query(sql`
        insert into exploration_contexts (campaign_id, id, iteration, aim, ordinal, signal_id, trajectory_id, task_id,
          epoch, refill)
        select ${key.campaignId}::integer, c.id, ${key.iteration}::smallint, ${aim}, c.ordinal, c."signalId",
          c."trajectoryId", c."taskId", ${key.epoch}::integer, ${refill}::smallint
        from jsonb_to_recordset(${JSON.stringify(numbered)}::jsonb)
          as c (id text, ordinal integer, "signalId" text, "trajectoryId" text, "taskId" text)
        where not exists (select from exploration_contexts p
          where p.campaign_id = ${key.campaignId}::integer and p.iteration = ${key.iteration}::smallint
            and p.aim = ${aim} and p.refill = ${refill}::smallint)`);
    }),

  /** Counts the contexts of an aim up to a refill. */
  async countContexts({ campaignId, iteration }: IterationKey, aim: SynthesisAim, refill = 0): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(sql`
      select count(*)::integer as count from exploration_contexts
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint and aim = ${aim}
        and refill <= ${refill}::smallint`);
    return rows[0]!.count;
  },

  /** @throws DomainError `UnknownContext` */
  async getContext(campaignId: number, id: string): Promise<ContextRow> {
    const { rows } = await pool.query<ContextRow>(sql`
      select id, iteration, aim, ordinal, refill, signal_id as "signalId", trajectory_id as "trajectoryId",
        task_id as "taskId", status, context, failure
      from exploration_contexts where campaign_id = ${campaignId}::integer and id = ${id}`);
    if (!rows[0]) throw new DomainError('UnknownContext', `no exploration context has the id "${id}"`);
    return rows[0];
  },

  /**
   * Stores the reflection on a planned context, or its failure. The first result is kept. Returns the stored row.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async saveReflection(key: IterationKey, id: string, reflection: Reflection | ModelFailure): Promise<ContextRow> {
    const failed = 'detail' in reflection;
    await pool.query(
      `update exploration_contexts c
       set status = case when $5 then 'failed' else 'reflected' end,
         context = case when $5 then null else $6::jsonb end, failure = case when $5 then $6::jsonb end
       where c.campaign_id = $1::integer and c.id = $2 and c.status = 'planned'
         and exists (select from iterations i
           where i.campaign_id = $1::integer and i.number = $3::smallint and i.epoch = $4::integer for share)`,
      [key.campaignId, id, key.iteration, key.epoch, failed, toJson(reflection)],
    );
    const row = await this.getContext(key.campaignId, id);
    if (row.status === 'planned') throw await epochError(pool, key);
    return row;
  },
});

/** Exploration runs and their abstractions. */
const runStore = (pool: Pool) => ({
  async findRun(campaignId: number, id: string): Promise<RunSummary | undefined> {
    const { rows } = await pool.query<RunSummary>(sql`
      select r.id, r.outcome, (select count(*) from exploration_turns s
          where s.campaign_id = r.campaign_id and s.run_id = r.id)::integer as turns
      from exploration_runs r where r.campaign_id = ${campaignId}::integer and r.id = ${id}`);
    return rows[0];
  },

  /**
   * Stores a run with its turns. The first writer wins; every call returns the stored run.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async saveRun(key: IterationKey, run: NewRun): Promise<RunSummary> {
    const id = explorationRunId(run.contextId, run.round);
    const { opening, turns } = await storeFunctions(pool, key.campaignId, run);
    await pool.query(insertRun, [
      key.campaignId,
      key.iteration,
      key.epoch,
      id,
      run.contextId,
      run.round,
      run.seed,
      run.outcome,
      toText(run.fault),
      toJson(opening),
      run.reward,
      toJson(turns),
    ]);
    const stored = await this.findRun(key.campaignId, id);
    if (!stored) throw await epochError(pool, key);
    return stored;
  },

  /** Lists the runs of a context with their turns, by round. */
  async listRuns(campaignId: number, contextId: string): Promise<RunRow[]> {
    const { rows } = await pool.query<RunRow>(sql`
      select r.id, r.context_id as "contextId", r.round, r.seed, r.outcome, r.fault, r.opening, r.reward,
        coalesce((select jsonb_agg(jsonb_build_object('action', s.action, 'thinking', s.thinking,
            'observation', s.observation, 'callId', s.call_id) order by s.ordinal)
          from exploration_turns s where s.campaign_id = r.campaign_id and s.run_id = r.id), '[]') as turns
      from exploration_runs r
      where r.campaign_id = ${campaignId}::integer and r.context_id = ${contextId}
      order by r.round`);
    return withStoredFunctions(pool, campaignId, rows);
  },

  async findAbstraction(campaignId: number, contextId: string): Promise<AbstractionRow | undefined> {
    const { rows } = await pool.query<AbstractionRow>(sql`
      select context_id as "contextId", candidates, failure, call_id as "callId"
      from abstractions where campaign_id = ${campaignId}::integer and context_id = ${contextId}`);
    return rows[0];
  },

  /**
   * Stores the abstraction of a context's runs, after its candidates. The first writer wins.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async saveAbstraction(key: IterationKey, abstraction: AbstractionRow): Promise<AbstractionRow> {
    const { contextId, candidates, failure, callId } = abstraction;
    await pool.query(sql`
      insert into abstractions (campaign_id, id, context_id, candidates, failure, call_id, epoch)
      select ${key.campaignId}::integer, ${`${contextId}/abstraction`}, ${contextId}, ${candidates}::integer,
        ${failure && toJson(failure)}::jsonb, ${callId}, ${key.epoch}::integer
      from iterations i
      where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
        and i.epoch = ${key.epoch}::integer
      for share
      on conflict do nothing`);
    const stored = await this.findAbstraction(key.campaignId, contextId);
    if (!stored) throw await epochError(pool, key);
    return stored;
  },
});

const insertRun = `
  with stored as (
    insert into exploration_runs (campaign_id, id, context_id, round, seed, outcome, fault, opening, reward, epoch)
    select $1::integer, $4, $5, $6::smallint, $7::bigint, $8, $9, $10::jsonb, $11::float8, $3::integer
    from iterations i
    where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $3::integer
    for share
    on conflict do nothing
    returning campaign_id, id
  )
  insert into exploration_turns (campaign_id, run_id, ordinal, action, thinking, observation, call_id)
  select stored.campaign_id, stored.id, (step.ordinal - 1)::smallint, body.action, body.thinking, body.observation, body."callId"
  from stored, jsonb_array_elements($12::jsonb) with ordinality as step (value, ordinal),
    jsonb_to_record(step.value) as body (action text, thinking text, observation jsonb, "callId" text)`;

export type ExplorationStore = ReturnType<typeof explorationStore>;
