import type { Pool } from 'pg';
import type { FeedbackSignal, FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import { feedbackSignalId } from '../../domain/campaign/ids';
import { assertEpoch, type IterationKey } from '../base/epoch';

export type FeedbackSignalRow = FeedbackSignal & { id: string; iteration: number };

export const feedbackSignalStore = (pool: Pool) => ({
  /**
   * Stores the signals of an iteration. A repeated call changes nothing.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, found: readonly FeedbackSignal[]): Promise<void> {
    const { campaignId, iteration, epoch } = key;
    await pool.query(
      `insert into feedback_signals (campaign_id, id, iteration, kind, ordinal, task_id, trajectory_id, strength,
         detail, epoch)
       select $1::integer, s.id, $2::smallint, s.kind, s.ordinal, s."taskId", s."trajectoryId", s.strength,
         s.detail, $3::integer
       from jsonb_to_recordset($4::jsonb)
         as s (id text, kind text, ordinal integer, "taskId" text, "trajectoryId" text, strength float8, detail jsonb)
       where exists (select from iterations i
         where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $3::integer for share)
       on conflict do nothing`,
      [campaignId, iteration, epoch, JSON.stringify(numbered(iteration, found))],
    );
    await assertEpoch(pool, key);
  },

  async list(campaignId: number, iteration: number): Promise<FeedbackSignalRow[]> {
    const { rows } = await pool.query<FeedbackSignalRow>(
      `select id, iteration, kind, task_id as "taskId", trajectory_id as "trajectoryId", strength, detail
       from feedback_signals where campaign_id = $1::integer and iteration = $2::smallint
       order by kind, ordinal`,
      [campaignId, iteration],
    );
    return rows;
  },

  async countByKind(campaignId: number, iteration: number): Promise<Record<string, number>> {
    const { rows } = await pool.query<{ kind: FeedbackSignalKind; count: number }>(
      `select kind, count(*)::integer as count from feedback_signals
       where campaign_id = $1::integer and iteration = $2::smallint group by kind order by kind`,
      [campaignId, iteration],
    );
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
  },
});

/** Numbers signals per kind. Detection returns them in a deterministic order, so the number is a stable id. */
function numbered(iteration: number, found: readonly FeedbackSignal[]) {
  const next = new Map<FeedbackSignalKind, number>();
  return found.map((signal) => {
    const ordinal = next.get(signal.kind) ?? 0;
    next.set(signal.kind, ordinal + 1);
    return { ...signal, ordinal, id: feedbackSignalId(iteration, signal.kind, ordinal) };
  });
}

export type FeedbackSignalStore = ReturnType<typeof feedbackSignalStore>;
