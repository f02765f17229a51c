import type { Pool } from 'pg';
import { assertEpoch, type IterationKey } from '../database/epoch';
import { toJson, toText } from '../database/postgres-text';
import { raw, sql } from '../database/sql';

/** Subject of a judgement: a candidate's validation, a calibration item or an attempt. */
export type JudgementKind = 'candidate' | 'calibration' | 'attempt';

type Verdict = {
  /** Is null if the answer was unusable. */
  completed: boolean | null;
  /** Reason of the verdict, or the problem of an unusable answer. */
  reason: string;
  criteria: Record<string, { ok: boolean; note: string }> | null;
  failure: 'malformed' | 'refused' | 'cut-off' | null;
};

export type NewJudgement = Verdict & {
  id: string;
  kind: JudgementKind;
  taskId: string;
  /** Prompt, provider, model and temperature. */
  judgeVersion: string;
  /** The model call with the judge's answer. */
  callId: string;
};

export type JudgementRow = NewJudgement & { iteration: number };

const columns = `id, iteration, kind, task_id as "taskId", judge_version as "judgeVersion", completed, reason, criteria,
  failure, call_id as "callId"`;

export const judgementStore = (pool: Pool) => ({
  /**
   * Stores a judgement. The first writer wins; every call returns the stored row.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, judgement: NewJudgement): Promise<JudgementRow> {
    const { id, kind, taskId, judgeVersion, completed, reason, criteria, failure, callId } = judgement;
    await pool.query(sql`
      insert into judgements (campaign_id, id, iteration, kind, task_id, judge_version, completed, reason, criteria,
        failure, call_id, epoch)
      select ${key.campaignId}::integer, ${id}, ${key.iteration}::smallint, ${kind}, ${taskId}, ${judgeVersion},
        ${completed}::boolean, ${toText(reason)}, ${criteria && toJson(criteria)}::jsonb, ${failure}, ${callId},
        ${key.epoch}::integer
      from iterations i
      where i.campaign_id = ${key.campaignId}::integer and i.number = ${key.iteration}::smallint
        and i.epoch = ${key.epoch}::integer
      for share
      on conflict do nothing`);
    await assertEpoch(pool, key);
    return (await this.findMany(key.campaignId, [id])).get(id)!;
  },

  /** Returns the stored judgements among `ids`. */
  async findMany(campaignId: number, ids: readonly string[]): Promise<Map<string, JudgementRow>> {
    const { rows } = await pool.query<JudgementRow>(sql`
      select ${raw(columns)} from judgements where campaign_id = ${campaignId}::integer and id = any (${ids}::text[])`);
    return new Map(rows.map((row) => [row.id, row]));
  },

  /** Lists the judgements of an iteration, ordered by id. */
  async list({ campaignId, iteration }: IterationKey, kind: JudgementKind): Promise<JudgementRow[]> {
    const { rows } = await pool.query<JudgementRow>(sql`
      select ${raw(columns)} from judgements
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint and kind = ${kind}
      order by id`);
    return rows;
  },
});

export type JudgementStore = ReturnType<typeof judgementStore>;
