import type { Pool } from 'pg';
import type { CorruptionKind } from '../../domain/evaluation/corrupt-actions';
import type { Calibration, Confusion, Rate, Trust } from '../../domain/evaluation/judge-calibration';
import { assertEpoch, lockEpoch, epochError, type IterationKey } from '../database/epoch';
import { storeFunctions, withStoredFunctions } from '../database/function-lists';
import { inTransaction } from '../database/pool';
import { toJson } from '../database/postgres-text';
import type { ChatMessage } from '../../domain/rollout/turn';
import { sql } from '../database/sql';

export type Transcript = {
  opening: ChatMessage[];
  turns: { action: string; observation: ChatMessage[] }[];
  stopReason: string;
};

export type NewCalibrationItem = {
  taskId: string;
  /** Is null for the uncorrupted reference actions. */
  corruption: CorruptionKind | null;
  actions: string[];
};

export type CalibrationItem = NewCalibrationItem & {
  ordinal: number;
  /** Is null until the case is played. */
  transcript: Transcript | null;
  /** Reward of the played actions, in [0, 1]. Is null if the environment gives no verdict on them. */
  reward: number | null;
};

export type ItemRollout = Pick<CalibrationItem, 'ordinal' | 'corruption' | 'actions' | 'reward'> & {
  transcript: Transcript;
};

export type CalibrationRow = Calibration &
  Trust & {
    iteration: number;
    /** Count of unusable items: reference actions that did not score 1, or whose corruptions all scored 1. */
    dropped: number;
    /** Difference from the campaign's first calibration; null without a significant one. */
    drift: string | null;
  };

export type NewCalibration = Omit<CalibrationRow, 'iteration'>;

export const judgeCalibrationStore = (pool: Pool) => ({
  /**
   * Stores the items of an iteration's calibration once. Returns the count of stored items.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  plan: (key: IterationKey, items: readonly NewCalibrationItem[]): Promise<number> =>
    inTransaction(pool, async (client) => {
      await lockEpoch(client, key);
      await client.query(sql`
        insert into calibration_items (campaign_id, iteration, ordinal, task_id, corruption, actions, epoch)
        select ${key.campaignId}::integer, ${key.iteration}::smallint, (item.ordinal - 1)::integer,
          item.value ->> 'taskId', item.value ->> 'corruption', item.value -> 'actions', ${key.epoch}::integer
        from jsonb_array_elements(${toJson(items)}::jsonb) with ordinality as item (value, ordinal)
        where not exists (select from calibration_items
          where campaign_id = ${key.campaignId}::integer and iteration = ${key.iteration}::smallint)`);
      const { rows } = await client.query<{ count: number }>(sql`
        select count(*)::integer as count from calibration_items
        where campaign_id = ${key.campaignId}::integer and iteration = ${key.iteration}::smallint`);
      return rows[0]!.count;
    }),

  /** Lists items `from` to `to` (exclusive) of an iteration's calibration; by default all. */
  async listItems(
    { campaignId, iteration }: IterationKey,
    from = 0,
    to: number | null = null,
  ): Promise<CalibrationItem[]> {
    const { rows } = await pool.query<CalibrationItem>(sql`
      select ordinal, task_id as "taskId", corruption, actions, transcript, reward
      from calibration_items
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint
        and ordinal >= ${from}::integer and (${to}::integer is null or ordinal < ${to}::integer)
      order by ordinal`);
    const played = rows.flatMap(({ transcript }) => transcript ?? []);
    const complete = await withStoredFunctions(pool, campaignId, played);
    const completeOf = new Map(played.map((transcript, i) => [transcript, complete[i]!]));
    return rows.map((row) => ({ ...row, transcript: row.transcript && completeOf.get(row.transcript)! }));
  },

  /**
   * Stores the rollout of an item with the played actions, which can have another corruption than planned if the
   * planned one did not lower the reward. The first rollout is kept.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async saveRollout(
    key: IterationKey,
    { ordinal, corruption, actions, transcript, reward }: ItemRollout,
  ): Promise<void> {
    const { campaignId, iteration, epoch } = key;
    const stored = await storeFunctions(pool, campaignId, transcript);
    await pool.query(sql`
      update calibration_items set corruption = ${corruption}, actions = ${toJson(actions)}::jsonb,
        transcript = ${toJson(stored)}::jsonb, reward = ${reward}::float8
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint
        and ordinal = ${ordinal}::integer and transcript is null
        and exists (select from iterations i
          where i.campaign_id = ${campaignId}::integer and i.number = ${iteration}::smallint
            and i.epoch = ${epoch}::integer for share)`);
    await assertEpoch(pool, key);
  },

  /**
   * Stores a calibration's result once, together with an event if the judge drifted, and with one if it is not trusted.
   *
   * @param distrust why its verdicts do not count; null if they do
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, calibration: NewCalibration, distrust: string | null = null): Promise<CalibrationRow> {
    const { judgeVersion, counts, agreement, precision, recall, dropped, drift } = calibration;
    await pool.query(insertCalibration, [
      key.campaignId,
      key.iteration,
      key.epoch,
      judgeVersion,
      counts.truePositives,
      counts.falsePositives,
      counts.trueNegatives,
      counts.falseNegatives,
      counts.unusable,
      dropped,
      ...ends(agreement),
      ...ends(precision),
      ...ends(recall),
      drift,
      distrust,
    ]);
    await assertEpoch(pool, key);
    const stored = (await this.list(key.campaignId)).find(
      (row) => row.iteration === key.iteration && row.judgeVersion === judgeVersion,
    );
    if (!stored) throw await epochError(pool, key);
    return stored;
  },

  /** Lists calibrations by iteration. One iteration has several only where an upgrade changed the judge's prompt in it. */
  async list(campaignId: number): Promise<CalibrationRow[]> {
    const { rows } = await pool.query<StoredCalibration>(sql`
      select iteration, judge_version as "judgeVersion", true_positives as "truePositives",
        false_positives as "falsePositives", true_negatives as "trueNegatives", false_negatives as "falseNegatives",
        unusable, dropped, agreement, agreement_low as "agreementLow", agreement_high as "agreementHigh",
        precision_ as precision, precision_low as "precisionLow", precision_high as "precisionHigh",
        recall, recall_low as "recallLow", recall_high as "recallHigh", reason
      from judge_calibrations where campaign_id = ${campaignId}::integer
      order by iteration, judge_version`);
    return rows.map(toCalibration);
  },

  /** Returns the newest calibration of a judge; null before the first. */
  async findNewest(campaignId: number, judgeVersion: string): Promise<CalibrationRow | null> {
    const all = await this.list(campaignId);
    return all.findLast((calibration) => calibration.judgeVersion === judgeVersion) ?? null;
  },
});

const ends = ({ rate, low, high }: Rate): (number | null)[] => [rate, low, high];

const insertCalibration = `
  with stored as (
    insert into judge_calibrations (campaign_id, iteration, judge_version, true_positives, false_positives,
      true_negatives, false_negatives, unusable, dropped, agreement, agreement_low, agreement_high, precision_,
      precision_low, precision_high, recall, recall_low, recall_high, drifted, reason)
    select $1::integer, $2::smallint, $4, $5::integer, $6::integer, $7::integer, $8::integer, $9::integer,
      $10::integer, $11::float8, $12::float8, $13::float8, $14::float8, $15::float8, $16::float8, $17::float8,
      $18::float8, $19::float8, $20::text is not null, $20::text
    from iterations i
    where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $3::integer
    for share
    on conflict do nothing
    returning campaign_id, iteration, reason
  )
  insert into events (campaign_id, iteration, kind, actor, detail)
  select campaign_id, iteration, kind, 'coevolve', jsonb_build_object('reason', said)
  from stored cross join lateral (values ('judge-drift', reason), ('judge-untrusted', $21::text)) as news (kind, said)
  where said is not null`;

type StoredCalibration = Confusion & {
  iteration: number;
  judgeVersion: string;
  dropped: number;
  reason: string | null;
} & Record<RateColumn, number> &
  Record<RateName, number | null>;

type RateName = 'agreement' | 'precision' | 'recall';
type RateColumn = `${RateName}${'Low' | 'High'}`;

function toCalibration(row: StoredCalibration): CalibrationRow {
  const { truePositives, falsePositives, trueNegatives, falseNegatives, unusable } = row;
  const rate = (name: RateName): Rate => ({ rate: row[name], low: row[`${name}Low`], high: row[`${name}High`] });
  return {
    iteration: row.iteration,
    judgeVersion: row.judgeVersion,
    counts: { truePositives, falsePositives, trueNegatives, falseNegatives, unusable },
    agreement: rate('agreement'),
    precision: rate('precision'),
    recall: rate('recall'),
    dropped: row.dropped,
    drift: row.reason,
  };
}

export type JudgeCalibrationStore = ReturnType<typeof judgeCalibrationStore>;
