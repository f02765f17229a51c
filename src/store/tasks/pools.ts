import type { Pool } from 'pg';
import type { IterationKey } from '../database/epoch';
import { sql } from '../database/sql';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import type { TaskRow } from './tasks';

/** The admitted train tasks that an iteration draws from; without `withSeeds`, synthesized tasks alone. */
export type DrawableKey = Omit<IterationKey, 'epoch'> & { withSeeds: boolean };

/** `cluster`: kind of the task. */
export type DrawableTask = { taskId: string; cluster: string; isSynthesized: boolean };

export type KnownGoal = Pick<TaskRow, 'id' | 'goal' | 'contentKey'>;

const knownPerPage = 2000;

/** The task pool without the texts of tasks. Lists are ordered by iteration of creation and id. */
export const poolStore = (pool: Pool) => ({
  /** Counts the admitted tasks by their split. */
  async countBySplit(campaignId: number): Promise<{ train: number; heldOut: number }> {
    const { rows } = await pool.query<{ train: number; heldOut: number }>(sql`
      select (count(*) filter (where split = 'train'))::integer as train,
        (count(*) filter (where split = 'held-out'))::integer as "heldOut"
      from tasks where campaign_id = ${campaignId}::integer and verdict = 'admitted'`);
    return rows[0]!;
  },

  /** Returns whether the campaign has tasks, with any verdict. */
  async hasTasks(campaignId: number): Promise<boolean> {
    const { rowCount } = await pool.query(sql`
      select from tasks where campaign_id = ${campaignId}::integer limit 1`);
    return rowCount === 1;
  },

  /** Lists the admitted seed tasks with reference actions that training may use. */
  async listReferences(campaignId: number): Promise<string[]> {
    const { rows } = await pool.query<{ id: string }>(sql`
      select id from tasks
      where campaign_id = ${campaignId}::integer and verdict = 'admitted' and split = 'train' and origin = 'seed'
        and jsonb_array_length(reference_actions) > 0
      order by created_iteration, id`);
    return rows.map(({ id }) => id);
  },

  /** Lists the tasks of an evaluation set. */
  async listEvaluated(campaignId: number, evaluationSet: string): Promise<string[]> {
    const { rows } = await pool.query<{ id: string }>(sql`
      select id from tasks
      where campaign_id = ${campaignId}::integer and verdict = 'admitted' and evaluation_set = ${evaluationSet}
      order by created_iteration, id`);
    return rows.map(({ id }) => id);
  },

  /** Counts the admitted train tasks, retired ones too. */
  async countAdmitted(campaignId: number, withSeeds: boolean): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(sql`
      select count(*)::integer as count from tasks t where ${isAdmitted(campaignId, withSeeds)}`);
    return rows[0]!.count;
  },

  /** Counts the drawable tasks that have not retired. */
  async countDrawable(key: DrawableKey): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(sql`
      select count(*)::integer as count from tasks t where ${isDrawable(key)}`);
    return rows[0]!.count;
  },

  /** Returns the ids at some positions, from 0, among the drawable tasks that have not retired. */
  async listDrawableAt(key: DrawableKey, positions: readonly number[]): Promise<Map<number, string>> {
    const { rows } = await pool.query<{ position: number; id: string }>(sql`
      select position, id from (
        select t.id, (row_number() over (order by t.created_iteration, t.id) - 1)::integer as position
        from tasks t where ${isDrawable(key)}
      ) numbered
      where position = any (${positions}::integer[])`);
    return new Map(rows.map(({ position, id }) => [position, id]));
  },

  /**
   * Returns pages of the tasks that the candidates of an iteration's refill are compared with: the admitted ones of a
   * split, without those of this refill and of later ones.
   */
  async *readKnown(
    { campaignId, iteration }: IterationKey,
    split: TaskSplit,
    refill: number,
  ): AsyncGenerator<KnownGoal[]> {
    for (let after = ''; ;) {
      const { rows } = await pool.query<KnownGoal>(sql`
        select id, goal, content_key as "contentKey" from tasks
        where campaign_id = ${campaignId}::integer and verdict = 'admitted' and split = ${split} and id > ${after}
          and (origin = 'seed' or created_iteration <> ${iteration}::smallint or refill < ${refill}::smallint)
        order by id limit ${knownPerPage}::integer`);
      if (rows.length > 0) yield rows;
      if (rows.length < knownPerPage) return;
      after = rows.at(-1)!.id;
    }
  },

  /** Lists the drawable tasks, retired ones too. */
  async listDrawable({ campaignId, withSeeds }: DrawableKey): Promise<DrawableTask[]> {
    const { rows } = await pool.query<DrawableTask>(sql`
      select t.id as "taskId", coalesce(t.features ->> 'pattern', t.features ->> 'group', t.environment) as cluster,
        t.origin <> 'seed' as "isSynthesized"
      from tasks t where ${isAdmitted(campaignId, withSeeds)}
      order by t.created_iteration, t.id`);
    return rows;
  },
});

const isAdmitted = (campaignId: number, withSeeds: boolean) => sql`
  t.campaign_id = ${campaignId}::integer and t.verdict = 'admitted' and t.split = 'train'
    and (${withSeeds}::boolean or t.origin <> 'seed')`;

const isDrawable = ({ campaignId, iteration, withSeeds }: DrawableKey) => sql`
  ${isAdmitted(campaignId, withSeeds)}
    and not exists (select from task_retirements r
      where r.campaign_id = t.campaign_id and r.task_id = t.id and r.iteration <= ${iteration}::smallint)`;

export type PoolStore = ReturnType<typeof poolStore>;
