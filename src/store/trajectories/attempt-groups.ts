import type { Pool, PoolClient } from 'pg';
import { trajectoryId } from '../../domain/campaign/ids';
import type { AttemptResult } from '../../domain/rollout/trajectory';
import type { PatternExtractor } from '../../domain/signals/action-pattern';
import type { PatternCount } from '../../domain/signals/pattern-counts';
import { lockEpoch, type IterationKey } from '../database/epoch';
import { inTransaction } from '../database/pool';
import { toJson } from '../database/postgres-text';
import { raw, sql } from '../database/sql';
import { actionsOfAttempt } from './trajectories';

/** Number, reward, and ordinals of the distinct patterns of an attempt. */
export type GroupedAttempt = [attempt: number, reward: number, patterns: number[]];

export type AttemptGroup = { taskId: string; policyId: string; attempts: GroupedAttempt[] };

/** `patterns`: ordinals in the iteration of the attempt. */
export type WindowAttempt = AttemptResult & { patterns: readonly number[] };

/** `count` and `trajectories` are sums over the campaign, up to an iteration; `ordinal` identifies it in its own iteration. */
export type PatternRow = PatternCount & { iteration: number; ordinal: number };

type PlayedActions = Pick<AttemptGroup, 'taskId' | 'policyId'> & {
  attempts: { attempt: number; reward: number; actions: string[] }[];
};

export type PlayedTask = { taskId: string; taskType: string | null };

/** The scored training attempts of a campaign in small rows, which the feedback signals read in place of trajectories. */
export const attemptGroupStore = (pool: Pool) => ({ ...writtenGroups(pool), ...readGroups(pool) });

const writtenGroups = (pool: Pool) => ({
  /** Lists the iterations up to this one with attempts that have no groups, or groups with the patterns of another extractor. */
  async listMissing({ campaignId, iteration }: IterationKey, extractor: PatternExtractor): Promise<number[]> {
    const { rows } = await pool.query<{ number: number }>(sql`
      select i.number from iterations i
      where i.campaign_id = ${campaignId}::integer and i.number <= ${iteration}::smallint
        and exists (select from trajectories t
          where t.campaign_id = i.campaign_id and t.iteration = i.number and t.purpose = 'train'
            and t.outcome = 'scored')
        and not exists (select from attempt_groups g
          where g.campaign_id = i.campaign_id and g.iteration = i.number and g.extractor = ${extractor})
      order by i.number`);
    return rows.map(({ number }) => number);
  },

  /** Lists the tasks that an iteration played. */
  async listPlayed(campaignId: number, iteration: number): Promise<string[]> {
    const { rows } = await pool.query<{ id: string }>(sql`
      select distinct task_id collate "C" as id from trajectories
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint and purpose = 'train'
        and outcome = 'scored'
      order by id`);
    return rows.map(({ id }) => id);
  },

  /** Lists the scored training attempts of an iteration at some tasks with their actions. */
  async listActions(campaignId: number, iteration: number, taskIds: readonly string[]): Promise<PlayedActions[]> {
    const { rows } = await pool.query<PlayedActions>(sql`
      select t.task_id as "taskId", t.policy_id as "policyId",
        json_agg(json_build_object('attempt', t.attempt, 'reward', t.reward,
          'actions', ${raw(actionsOfAttempt)}) order by t.attempt) as attempts
      from trajectories t
      where t.campaign_id = ${campaignId}::integer and t.iteration = ${iteration}::smallint and t.purpose = 'train'
        and t.outcome = 'scored' and t.task_id = any (${taskIds}::text[])
      group by t.task_id, t.policy_id`);
    return rows;
  },

  /**
   * Stores the groups of an iteration and then its patterns, in place of those of another extractor.
   *
   * @param iteration the iteration of the groups, which may be an earlier one than that of the key
   * @throws DomainError `StaleEpoch` when a later run owns the iteration of the key
   */
  save: (
    key: IterationKey,
    { iteration, extractor }: { iteration: number; extractor: PatternExtractor },
    pages: Iterable<readonly AttemptGroup[]> | AsyncIterable<readonly AttemptGroup[]>,
    patterns: () => Iterable<readonly PatternCount[]>,
  ): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockEpoch(client, key);
      await deleteIteration(client, key.campaignId, iteration);
      for await (const page of pages)
        await client.query(sql`
          insert into attempt_groups (campaign_id, iteration, task_id, policy_id, extractor, attempts)
          select ${key.campaignId}::integer, ${iteration}::smallint, g."taskId", g."policyId", ${extractor}, g.attempts
          from jsonb_to_recordset(${JSON.stringify(page)}::jsonb) as g ("taskId" text, "policyId" text, attempts jsonb)`);
      let stored = 0;
      for (const page of patterns()) {
        await client.query(sql`
          insert into action_patterns (campaign_id, iteration, ordinal, pattern, count, trajectories, rewarded)
          select ${key.campaignId}::integer, ${iteration}::smallint, (${stored}::integer + p.position - 1)::integer,
            p.pattern, p.count, p.trajectories, p.rewarded
          from rows from (jsonb_to_recordset(${toJson(page)}::jsonb) as (pattern text, count integer,
            trajectories integer, rewarded boolean)) with ordinality as p (pattern, count, trajectories, rewarded, position)`);
        stored += page.length;
      }
    }),
});

const readGroups = (pool: Pool) => ({
  /** Lists the ids of the attempts that an iteration groups, by task, in the order of agents and numbers. */
  async listAttempts(campaignId: number, iteration: number): Promise<Map<string, string[]>> {
    const { rows } = await pool.query<{ taskId: string; ids: string[] }>(sql`
      select t.task_id as "taskId", array_agg(t.id order by p.role, t.attempt, t.id) as ids
      from trajectories t join policies p on p.campaign_id = t.campaign_id and p.id = t.policy_id
      where t.campaign_id = ${campaignId}::integer and t.iteration = ${iteration}::smallint and t.purpose = 'train'
        and t.outcome = 'scored'
      group by t.task_id`);
    return new Map(rows.map(({ taskId, ids }) => [taskId, ids]));
  },

  /** Lists the tasks of an iteration's groups. */
  async listGrouped(campaignId: number, iteration: number): Promise<string[]> {
    const { rows } = await pool.query<{ id: string }>(sql`
      select distinct task_id collate "C" as id from attempt_groups
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint
      order by id`);
    return rows.map(({ id }) => id);
  },

  /** Lists the tasks that were played up to an iteration. */
  async listTasks(campaignId: number, iteration: number): Promise<PlayedTask[]> {
    const { rows } = await pool.query<PlayedTask>(sql`
      select k.id as "taskId", k.features ->> 'pattern' as "taskType" from tasks k
      where k.campaign_id = ${campaignId}::integer and exists (select from attempt_groups g
        where g.campaign_id = k.campaign_id and g.task_id = k.id and g.iteration <= ${iteration}::smallint)
      order by k.id collate "C"`);
    return rows;
  },

  /** Lists the patterns of each iteration up to this one, with their sums over all of them. */
  async listPatterns(campaignId: number, iteration: number): Promise<PatternRow[]> {
    const { rows } = await pool.query<PatternRow>(sql`
      select iteration, ordinal, pattern, (sum(count) over same)::integer as count,
        (sum(trajectories) over same)::integer as trajectories, bool_or(rewarded) over same as rewarded
      from action_patterns
      where campaign_id = ${campaignId}::integer and iteration <= ${iteration}::smallint
      window same as (partition by pattern)`);
    return rows;
  },

  async countAttempts(campaignId: number, iteration: number): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(sql`
      select coalesce(sum(jsonb_array_length(attempts)), 0)::integer as count from attempt_groups
      where campaign_id = ${campaignId}::integer and iteration <= ${iteration}::smallint`);
    return rows[0]!.count;
  },

  /** Lists the attempts at some tasks: those of an iteration, and of the last `window` iterations before it with attempts of the agent. */
  async listWindow(
    { campaignId, iteration }: IterationKey,
    taskIds: readonly string[],
    window: number,
  ): Promise<WindowAttempt[]> {
    const { rows } = await pool.query<WindowRow>(sql`
      select * from (
        select g.task_id as "taskId", k.features ->> 'pattern' as "taskType", g.iteration, g.policy_id as "policyId",
          p.role, g.attempts, dense_rank() over (partition by p.role, g.task_id,
            g.iteration = ${iteration}::smallint order by g.iteration desc) as age
        from attempt_groups g
        join policies p on p.campaign_id = g.campaign_id and p.id = g.policy_id
        join tasks k on k.campaign_id = g.campaign_id and k.id = g.task_id
        where g.campaign_id = ${campaignId}::integer and g.task_id = any (${taskIds}::text[])
          and g.iteration <= ${iteration}::smallint
      ) aged
      where age <= ${window}::integer`);
    return rows.flatMap(({ attempts, taskType, ...group }) =>
      attempts.map(([attempt, reward, patterns]) => ({
        trajectoryId: trajectoryId({ ...group, purpose: 'train', attempt }),
        taskId: group.taskId,
        taskType,
        iteration: group.iteration,
        attempt,
        policyId: group.policyId,
        role: group.role,
        reward,
        patterns,
      })),
    );
  },
});

type WindowRow = Pick<AttemptResult, 'iteration' | 'role'> & AttemptGroup & { taskType: string };

async function deleteIteration(client: PoolClient, campaignId: number, iteration: number): Promise<void> {
  for (const table of ['attempt_groups', 'action_patterns'])
    await client.query(`delete from ${table} where campaign_id = $1::integer and iteration = $2::smallint`, [
      campaignId,
      iteration,
    ]);
}

export type AttemptGroupStore = ReturnType<typeof attemptGroupStore>;
