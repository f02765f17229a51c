import type { TaskSplit } from '../../domain/rollout/trajectory';
import type { Pool } from 'pg';
import type { ExampleTask } from '../../domain/tasks/nearest-goals';
import type { Purpose } from '../../domain/rollout/trajectory';
import { assertEpoch, lockEpoch, type IterationKey } from '../database/epoch';
import { inTransaction } from '../database/pool';
import { toJson } from '../database/postgres-text';
import { raw, sql } from '../database/sql';

export type TaskRow = {
  id: string;
  environment: string;
  split: TaskSplit;
  /** Of a held-out task; null for a train task. */
  evaluationSet: string | null;
  origin: 'seed' | 'synthesized' | 'random';
  goal: string;
  definition: Record<string, unknown>;
  features: Record<string, string | number>;
  referenceActions: string[];
  contentKey: string;
  createdIteration: number;
  parentTaskId: string | null;
  parentSignalId: string | null;
  /** To the parent, if the environment's generator made the task. */
  relation: string | null;
  /** Of the iteration's synthesis: 0 for the first one, later ones follow when too few candidates were admitted. */
  refill: number;
  verdict: 'admitted' | 'candidate' | 'rejected';
  reason: string | null;
  /** Source of the attempts' rewards. */
  grader: 'environment' | 'judge';
} & ModelFields;

/** Fields of a candidate that a model wrote; null for other tasks. */
type ModelFields = {
  description: string | null;
  /** In [0, 1]. */
  confidence: number | null;
  completionCriterion: string | null;
  /** The exploration context that the task was abstracted from. */
  contextId: string | null;
};

export type NewTask = Omit<
  TaskRow,
  'createdIteration' | 'relation' | 'refill' | 'verdict' | 'reason' | 'grader' | 'evaluationSet' | keyof ModelFields
> &
  Partial<ModelFields & Pick<TaskRow, 'relation' | 'refill'>> & {
    /** Of a held-out task; default: dev. */
    evaluationSet?: string | null;
    /** Default: environment. */
    grader?: TaskRow['grader'];
    /** Reason to store the candidate as rejected: it is not a valid task of the environment. */
    refusal?: string;
  };

const columns = `id, environment, split, evaluation_set as "evaluationSet", origin, goal, definition, features, reference_actions as "referenceActions",
  content_key as "contentKey", created_iteration as "createdIteration", parent_task_id as "parentTaskId",
  parent_signal_id as "parentSignalId", relation, refill, verdict, reason, grader, description, confidence,
  completion_criterion as "completionCriterion", context_id as "contextId"`;

export const taskStore = (pool: Pool) => ({ ...taskRows(pool), ...planStore(pool) });

const taskRows = (pool: Pool) => ({
  /** Stores tasks as admitted. Returns the count of inserted tasks. */
  seed: (key: IterationKey, tasks: readonly NewTask[]) => insertTasks(pool, key, tasks, 'admitted'),

  /** Stores candidates, those with a `refusal` as rejected. Only admission adds them to the pool. */
  propose: (key: IterationKey, tasks: readonly NewTask[]) => insertTasks(pool, key, tasks, 'candidate'),

  async get(campaignId: number, id: string): Promise<TaskRow> {
    const { rows } = await pool.query<TaskRow>(sql`
      select ${raw(columns)} from tasks where campaign_id = ${campaignId}::integer and id = ${id}`);
    return rows[0]!;
  },

  async list(campaignId: number, filter: TaskFilter = {}): Promise<TaskRow[]> {
    const { rows } = await pool.query<TaskRow>(sql`
      select ${raw(columns)} from reporting.tasks
      where campaign_id = ${campaignId}::integer
        and (${filter.verdict ?? null}::text is null or verdict = ${filter.verdict ?? null}::text)
        and (${filter.split ?? null}::text is null or split = ${filter.split ?? null}::text)
        and (${filter.createdIteration ?? null}::smallint is null
          or created_iteration = ${filter.createdIteration ?? null}::smallint)
        and (${filter.isSeed ?? null}::boolean is null or (origin = 'seed') = ${filter.isSeed ?? null}::boolean)
        and (${filter.ids ?? null}::text[] is null or id = any (${filter.ids ?? null}::text[]))
      order by created_iteration, id`);
    return rows;
  },

  /** Lists the admitted train tasks before a synthesis, by id. Its own tasks are left out at every time of a call. */
  async listKnown({ campaignId, iteration }: Omit<IterationKey, 'epoch'>, refill: number): Promise<ExampleTask[]> {
    const { rows } = await pool.query<ExampleTask>(sql`
      select goal, reference_actions as actions from tasks
      where campaign_id = ${campaignId}::integer and verdict = 'admitted' and split = 'train'
        and (origin = 'seed' or created_iteration < ${iteration}::smallint
          or created_iteration = ${iteration}::smallint and refill < ${refill}::smallint)
      order by id`);
    return rows;
  },

  /**
   * Returns statistics of the target agent's training attempts per task in the iterations before `before`: mean reward
   * and attempts from iteration `since` on, the count of iterations over all. Tasks without an attempt are left out.
   */
  async listStats(campaignId: number, since: number, before: number): Promise<Map<string, TaskStats>> {
    const { rows } = await pool.query<TaskStats & { taskId: string }>(sql`
      select t.task_id as "taskId", avg(t.reward order by t.iteration,
        t.attempt) filter (where t.iteration >= ${since}::smallint) as "meanReward",
        (count(*) filter (where t.iteration >= ${since}::smallint))::integer as attempts,
        count(distinct t.iteration)::integer as iterations
      from trajectories t
      join policies p on p.campaign_id = t.campaign_id and p.id = t.policy_id
      where t.campaign_id = ${campaignId}::integer and t.purpose = 'train' and t.outcome = 'scored'
        and p.role = 'target'
        and t.iteration < ${before}::smallint
      group by t.task_id`);
    return new Map(rows.map(({ taskId, ...stats }) => [taskId, stats]));
  },
});

/** Plans: the tasks of an iteration in order. */
const planStore = (pool: Pool) => ({
  /**
   * Stores the plan of an iteration, or of one RL step, once; a second call changes nothing. Concurrent calls are
   * serialized, so that a plan never mixes two.
   *
   * @param batch the step, from 1, and the index of its first task in the plan; omitted if an iteration is one batch
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  plan: (key: IterationKey, purpose: Purpose, taskIds: readonly string[], batch: Batch = wholePlan): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockEpoch(client, key);
      await client.query(sql`
        insert into planned_tasks (campaign_id, iteration, purpose, step, ordinal, task_id)
        select ${key.campaignId}::integer, ${key.iteration}::smallint, ${purpose}, ${batch.step}::smallint,
          (${batch.from}::integer + planned.ordinal - 1)::integer, planned.task_id
        from unnest(${taskIds}::text[]) with ordinality as planned (task_id, ordinal)
        where not exists (select from planned_tasks
          where campaign_id = ${key.campaignId}::integer and iteration = ${key.iteration}::smallint
            and purpose = ${purpose} and step = ${batch.step}::smallint)`);
    }),

  /**
   * Appends the tasks that are not in a plan without steps yet.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  extendPlan: (key: IterationKey, purpose: Purpose, taskIds: readonly string[]): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockEpoch(client, key);
      await client.query(sql`
        with plan as (
          select task_id, ordinal from planned_tasks
          where campaign_id = ${key.campaignId}::integer and iteration = ${key.iteration}::smallint
            and purpose = ${purpose}
        )
        insert into planned_tasks (campaign_id, iteration, purpose, ordinal, task_id)
        select ${key.campaignId}::integer, ${key.iteration}::smallint, ${purpose},
          (select coalesce(max(ordinal), -1) from plan) + row_number() over (order by added.ordinal), added.task_id
        from unnest(${taskIds}::text[]) with ordinality as added (task_id, ordinal)
        where added.task_id not in (select task_id from plan)`);
    }),

  /** Counts the tasks of a plan, or of one step of it. */
  async countPlanned(key: IterationKey, purpose: Purpose, step?: number): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(sql`
      select count(*)::integer as count from planned_tasks
      where campaign_id = ${key.campaignId}::integer and iteration = ${key.iteration}::smallint
        and purpose = ${purpose}
        and (${step ?? null}::smallint is null or step = ${step ?? null}::smallint)`);
    return rows[0]!.count;
  },

  /** Counts the tasks of a plan that belong to the refills before `refill`. */
  async countPlannedBefore(key: IterationKey, purpose: Purpose, refill: number): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(sql`
      select count(*)::integer as count
      from planned_tasks p join tasks t on t.campaign_id = p.campaign_id and t.id = p.task_id
      where p.campaign_id = ${key.campaignId}::integer and p.iteration = ${key.iteration}::smallint
        and p.purpose = ${purpose} and t.refill < ${refill}::smallint`);
    return rows[0]!.count;
  },

  /** Lists tasks `from` to `to` (exclusive) of a plan, in its order. */
  async listPlanned(key: IterationKey, purpose: Purpose, from: number, to: number): Promise<TaskRow[]> {
    const { rows } = await pool.query<TaskRow>(sql`
      select ${raw(columns)}
      from planned_tasks p join tasks t on t.campaign_id = p.campaign_id and t.id = p.task_id
      where p.campaign_id = ${key.campaignId}::integer and p.iteration = ${key.iteration}::smallint
        and p.purpose = ${purpose}
        and p.ordinal >= ${from}::integer and p.ordinal < ${to}::integer
      order by p.ordinal`);
    return rows;
  },
});

/** `from`: index of the batch's first task in the whole plan. */
export type Batch = { step: number; from: number };

const wholePlan: Batch = { step: 0, from: 0 };

export type TaskStats = {
  /** In [0, 1]; null without an attempt since `since`. */
  meanReward: number | null;
  attempts: number;
  iterations: number;
};

export type TaskFilter = {
  verdict?: TaskRow['verdict'];
  split?: TaskSplit;
  createdIteration?: number;
  isSeed?: boolean;
  ids?: readonly string[];
};

async function insertTasks(
  pool: Pool,
  key: IterationKey,
  tasks: readonly NewTask[],
  verdict: TaskRow['verdict'],
): Promise<number> {
  const { rowCount } = await pool.query(sql`
    insert into tasks (campaign_id, id, environment, split, evaluation_set, origin, goal, definition, features,
      reference_actions, content_key, created_iteration, parent_task_id, parent_signal_id, relation, refill, verdict,
      reason, grader, description, confidence, completion_criterion, context_id, epoch)
    select ${key.campaignId}::integer, t.id, t.environment, t.split,
      case when t.split = 'held-out' then coalesce(t."evaluationSet", 'dev') end, t.origin, t.goal, t.definition,
        t.features,
      t."referenceActions", t."contentKey", ${key.iteration}::smallint, t."parentTaskId", t."parentSignalId",
      t.relation, coalesce(t.refill, 0)::smallint,
      case when t.refusal is null then ${verdict} else 'rejected' end, t.refusal, coalesce(t.grader, 'environment'),
      t.description, t.confidence, t."completionCriterion", t."contextId", ${key.epoch}::integer
    from jsonb_to_recordset(${toJson(tasks)}::jsonb) as t (id text, environment text, split text,
      "evaluationSet" text, origin text, goal text, definition jsonb, features jsonb, "referenceActions" jsonb,
      "contentKey" text, "parentTaskId" text, "parentSignalId" text, relation text, refill integer, refusal text,
      grader text, description text, confidence real, "completionCriterion" text, "contextId" text)
    where exists (select from iterations i
      where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
        and i.epoch = ${key.epoch}::integer for share)
    on conflict do nothing`);
  await assertEpoch(pool, key);
  return rowCount ?? 0;
}

export type TaskStore = ReturnType<typeof taskStore>;
