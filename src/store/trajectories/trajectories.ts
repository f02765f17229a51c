import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import { trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import type { ExpertTrajectory } from '../../domain/pairs/pair-rules';
import type { ScoredAttempt, Outcome, Purpose } from '../../domain/rollout/trajectory';
import { separatedTurn, type ChatMessage, type StoredTurn } from '../../domain/rollout/turn';
import { assertEpoch, epochError, type IterationKey } from '../database/epoch';
import { toJson, toText } from '../database/postgres-text';
import { storeFunctions, withStoredFunctions } from '../database/function-lists';
import { gradedReward } from './graded-reward';

export type NewTrajectory = AttemptKey & {
  campaignId: number;
  epoch: number;
  seed: number;
  outcome: Outcome;
  reward: number | null;
  rawScore: number | null;
  stopReason: string;
  fault: string | null;
  opening: ChatMessage[];
  turns: StoredTurn[];
  promptTokens: number;
  completionTokens: number;
  seconds: number;
  /** Hash of everything that determines the attempt. Is null for an attempt that other campaigns do not reuse. */
  contentKey: string | null;
};

export type TrajectorySummary = { id: string; outcome: Outcome; reward: number | null; turnCount: number };

export type TrajectoryRow = TrajectorySummary &
  AttemptKey & {
    seed: number;
    stopReason: string;
    fault: string | null;
    opening: ChatMessage[];
    turns: Omit<StoredTurn, 'logprobs'>[];
  };

/** The actions of the attempt `t`. JSON, because the driver parses arrays character by character: 1.3 s of processor time for 60,000 attempts. */
export const actionsOfAttempt = `(select coalesce(json_agg(s.action order by s.ordinal), '[]') from trajectory_turns s
  where s.campaign_id = t.campaign_id and s.trajectory_id = t.id)`;

/** Purposes of the replays of reference actions: of seed tasks, or of all tasks of the pool. */
export const expertPurposes = { seed: ['expert'], pool: ['expert', 'validation'] };

/** Condition for the replays `t` of the purposes $2 at train tasks `k` of campaign $1. */
export const isExpert = `t.campaign_id = $1::integer and t.purpose = any ($2::text[]) and t.outcome = 'scored'
  and k.verdict = 'admitted' and k.split = 'train'`;

export const trajectoryStore = (pool: Pool) => ({
  /**
   * Stores a finished attempt with its turns and deletes them from the journal. The first writer wins; every call
   * returns the stored row.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(t: NewTrajectory): Promise<TrajectorySummary> {
    const id = trajectoryId(t);
    const { opening, turns } = await storeFunctions(pool, t.campaignId, t);
    const { rows } = await pool.query<TrajectorySummary>(insertTrajectory, parametersOf(t, opening, turns));
    const stored = rows[0] ?? (await this.findFinished(t.campaignId, [id])).get(id);
    if (!stored) throw await epochError(pool, t);
    return stored;
  },

  /** Returns the finished attempts among `ids`. */
  async findFinished(campaignId: number, ids: readonly string[]): Promise<Map<string, TrajectorySummary>> {
    const { rows } = await pool.query<TrajectorySummary>(
      `select id, outcome, reward, turn_count as "turnCount" from trajectories
       where campaign_id = $1::integer and id = any ($2::text[])`,
      [campaignId, ids],
    );
    return new Map(rows.map((row) => [row.id, row]));
  },

  /**
   * Stores a fault that ended one retry of an attempt; the attempt itself is retried.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async recordFault(key: IterationKey, id: string, outcome: Outcome, fault: string): Promise<void> {
    await pool.query(
      `insert into attempt_faults (campaign_id, trajectory_id, outcome, fault)
       select $1::integer, $4, $5, $6
       from iterations i
       where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $3::integer
       for share`,
      [key.campaignId, key.iteration, key.epoch, id, outcome, toText(fault)],
    );
    await assertEpoch(pool, key);
  },

  /** Lists scored training attempts of iterations `since` to `iteration`, at some tasks or at all, in a fixed order. */
  async listScored(
    campaignId: number,
    iteration: number,
    since = 0,
    taskIds?: readonly string[],
  ): Promise<ScoredAttempt[]> {
    const { rows } = await pool.query<ScoredAttempt>(
      `select t.id as "trajectoryId", t.task_id as "taskId", t.iteration, t.attempt, t.policy_id as "policyId",
         p.role, t.reward, k.features ->> 'pattern' as "taskType",
         ${actionsOfAttempt} as actions
       from trajectories t
       join policies p on p.campaign_id = t.campaign_id and p.id = t.policy_id
       join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
       where t.campaign_id = $1::integer and t.purpose = 'train' and t.outcome = 'scored'
         and t.iteration between $3::smallint and $2::smallint
         and ($4::text[] is null or t.task_id = any ($4::text[]))
       order by t.iteration, t.task_id, p.role, t.attempt`,
      [campaignId, iteration, since, taskIds ?? null],
    );
    return rows;
  },

  /**
   * Lists one scored replay of the reference actions per task, of some tasks or of all: the expert attempt of a seed task,
   * or the validation of a synthesized one. Where the judge grades attempts, it has approved the replay of an admitted task.
   */
  async listExperts(campaignId: number, taskIds?: readonly string[]): Promise<ExpertTrajectory[]> {
    const { rows } = await pool.query<ExpertTrajectory>(
      `select distinct on (t.task_id) t.id as "trajectoryId", t.task_id as "taskId",
         ${gradedReward('t', 'k')} as reward,
         ${actionsOfAttempt} as actions
       from trajectories t join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
       where ${isExpert} and ($3::text[] is null or t.task_id = any ($3::text[]))
       order by t.task_id, t.iteration`,
      [campaignId, expertPurposes.pool, taskIds ?? null],
    );
    return rows;
  },

  async get(campaignId: number, id: string): Promise<TrajectoryRow> {
    const row = (await this.findMany(campaignId, [id])).get(id);
    if (!row) throw new DomainError('UnknownTrajectory', `no trajectory has the id "${id}"`);
    return row;
  },

  /** Returns whole trajectories with their turns. */
  async findMany(campaignId: number, ids: readonly string[]): Promise<Map<string, TrajectoryRow>> {
    const { rows } = await pool.query<TrajectoryRow>(
      `select t.id, t.outcome, t.reward, t.turn_count as "turnCount", t.iteration, t.purpose, t.task_id as "taskId",
         t.policy_id as "policyId", t.attempt, t.seed, t.stop_reason as "stopReason", t.fault, t.opening,
         coalesce((select jsonb_agg(jsonb_build_object('action', s.action, 'bareAction', s.bare_action,
             'observation', s.observation,
             'promptTokenIds', to_jsonb(s.prompt_token_ids), 'tokenIds', to_jsonb(s.token_ids)) order by s.ordinal)
           from trajectory_turns s where s.campaign_id = t.campaign_id and s.trajectory_id = t.id), '[]') as turns
       from trajectories t
       where t.campaign_id = $1::integer and t.id = any ($2::text[])`,
      [campaignId, ids],
    );
    const complete = await withStoredFunctions(pool, campaignId, rows);
    return new Map(complete.map((row) => [row.id, { ...row, turns: row.turns.map(separatedTurn) }]));
  },

  /** Counts attempts by purpose and outcome, for the commit row of a phase. */
  async countByOutcome({ campaignId, iteration }: IterationKey, purposes: readonly Purpose[]): Promise<OutcomeCount[]> {
    const { rows } = await pool.query<OutcomeCount>(
      `select purpose, outcome, count(*)::integer as count,
         coalesce(sum(prompt_tokens + completion_tokens), 0)::float8 as tokens, coalesce(sum(seconds), 0)::float8 as seconds
       from trajectories
       where campaign_id = $1::integer and iteration = $2::smallint and purpose = any ($3::text[])
       group by purpose, outcome order by purpose, outcome`,
      [campaignId, iteration, purposes],
    );
    return rows;
  },
});

export type OutcomeCount = { purpose: Purpose; outcome: Outcome; count: number; tokens: number; seconds: number };

const parametersOf = (t: NewTrajectory, opening: ChatMessage[], turns: StoredTurn[]): unknown[] => [
  t.campaignId,
  trajectoryId(t),
  t.iteration,
  t.purpose,
  t.taskId,
  t.policyId,
  t.attempt,
  t.epoch,
  t.seed,
  t.outcome,
  t.reward,
  t.rawScore,
  toText(t.stopReason),
  toText(t.fault),
  toJson(opening),
  turns.length,
  t.promptTokens,
  t.completionTokens,
  t.seconds,
  toJson(turns),
  t.contentKey,
];

const insertTrajectory = `
  with stored as (
    insert into trajectories (campaign_id, id, iteration, purpose, task_id, policy_id, attempt, epoch, seed, outcome,
      reward, raw_score, stop_reason, fault, opening, turn_count, prompt_tokens, completion_tokens, seconds,
      content_key)
    select $1::integer, $2, $3::smallint, $4, $5, $6, $7::smallint, $8::integer, $9::bigint, $10, $11::float8,
      $12::float8, $13, $14, $15::jsonb, $16::smallint, $17::integer, $18::integer, $19::real, $21
    from iterations i
    where i.campaign_id = $1::integer and i.number = $3::smallint and i.epoch = $8::integer
    for share
    on conflict do nothing
    returning campaign_id, id, outcome, reward, turn_count
  ), bodies as (
    insert into trajectory_turns (campaign_id, trajectory_id, ordinal, action, observation, prompt_token_ids,
      token_ids, logprobs, bare_action)
    select stored.campaign_id, stored.id, (step.ordinal - 1)::smallint, body.action, body.observation,
      body."promptTokenIds", body."tokenIds", body.logprobs, body."bareAction"
    from stored, jsonb_array_elements($20::jsonb) with ordinality as step (value, ordinal),
      jsonb_to_record(step.value) as body (action text, observation jsonb, "promptTokenIds" integer[],
        "tokenIds" integer[], logprobs real[], "bareAction" text)
  ), journal as (
    delete from turn_journal t using stored
    where t.campaign_id = $1::integer and t.trajectory_id = stored.id
  )
  select id, outcome, reward, turn_count as "turnCount" from stored`;

export type TrajectoryStore = ReturnType<typeof trajectoryStore>;
