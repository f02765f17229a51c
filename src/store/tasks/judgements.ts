import type { Pool } from 'pg';
import { assertEpoch, type IterationKey } from '../database/epoch';
import { toJson, toText } from '../database/postgres-text';

/** Subject of a judgement: a candidate's validation, a calibration item or an attempt. */
export type JudgementKind = 'candidate' | 'calibration' | 'attempt';

type Verdict = {
  /** null: the answer was unusable. */
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
    await pool.query(
      `insert into judgements (campaign_id, id, iteration, kind, task_id, judge_version, completed, reason, criteria,
         failure, call_id, epoch)
       select $1::integer, $2, $3::smallint, $4, $5, $6, $7::boolean, $8, $9::jsonb, $10, $11, $12::integer
       from iterations i
       where i.campaign_id = $1::integer and i.number = $3::smallint and i.epoch = $12::integer
       for share
       on conflict do nothing`,
      [
        key.campaignId,
        id,
        key.iteration,
        kind,
        taskId,
        judgeVersion,
        completed,
        toText(reason),
        criteria && toJson(criteria),
        failure,
        callId,
        key.epoch,
      ],
    );
    await assertEpoch(pool, key);
    return (await this.findMany(key.campaignId, [id])).get(id)!;
  },

  /** Returns the stored judgements among `ids`. */
  async findMany(campaignId: number, ids: readonly string[]): Promise<Map<string, JudgementRow>> {
    const { rows } = await pool.query<JudgementRow>(
      `select ${columns} from judgements where campaign_id = $1::integer and id = any ($2::text[])`,
      [campaignId, ids],
    );
    return new Map(rows.map((row) => [row.id, row]));
  },

  /** Lists the judgements of an iteration, ordered by id. */
  async list({ campaignId, iteration }: IterationKey, kind: JudgementKind): Promise<JudgementRow[]> {
    const { rows } = await pool.query<JudgementRow>(
      `select ${columns} from judgements
       where campaign_id = $1::integer and iteration = $2::smallint and kind = $3
       order by id`,
      [campaignId, iteration, kind],
    );
    return rows;
  },
});

export type JudgementStore = ReturnType<typeof judgementStore>;
