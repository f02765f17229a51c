import type { Pool } from 'pg';
import type { FeedbackSignal, FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import type { SignalRate } from '../../domain/signals/unchanged-policy';
import { feedbackSignalId } from '../../domain/campaign/ids';
import { pagesOf } from '../../domain/pages';
import { assertEpoch, isCurrent, type IterationKey } from '../database/epoch';

export type FeedbackSignalRow = FeedbackSignal & { id: string; iteration: number };

/** Bounds the time for which a statement's JSON blocks the process to some 20 ms. */
const signalsPerStatement = 5_000;

export const feedbackSignalStore = (pool: Pool) => ({
  /**
   * Stores the signals of an iteration. A repeated call changes nothing.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async save(key: IterationKey, found: readonly FeedbackSignal[]): Promise<void> {
    const { campaignId, iteration, epoch } = key;
    const numbered = numbering(iteration);
    for (const page of pagesOf(found, signalsPerStatement))
      await pool.query(
        `insert into feedback_signals (campaign_id, id, iteration, kind, ordinal, task_id, trajectory_id, strength,
           detail, epoch)
         select $1::integer, s.id, $2::smallint, s.kind, s.ordinal, s."taskId", s."trajectoryId", s.strength,
           s.detail, $3::integer
         from jsonb_to_recordset($4::jsonb)
           as s (id text, kind text, ordinal integer, "taskId" text, "trajectoryId" text, strength float8, detail jsonb)
         where ${isCurrent}
         on conflict do nothing`,
        [campaignId, iteration, epoch, JSON.stringify(page.map(numbered))],
      );
    await assertEpoch(pool, key);
  },

  /** Stores the rates of an iteration's signals, after the signals. A repeated call changes nothing. */
  async saveRates(key: IterationKey, rates: readonly SignalRate[]): Promise<void> {
    const { campaignId, iteration, epoch } = key;
    await pool.query(
      `insert into signal_rates (campaign_id, iteration, kind, played, flagged, unchanged, permutations)
       select $1::integer, $2::smallint, r.kind, r.played, r.flagged, r.unchanged, r.permutations
       from jsonb_to_recordset($4::jsonb)
         as r (kind text, played integer, flagged integer, unchanged float8, permutations integer)
       where ${isCurrent}
       on conflict do nothing`,
      [campaignId, iteration, epoch, JSON.stringify(rates)],
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

  /**
   * Returns the id of the same agent's attempt at the same task with the opposite result (rewards from 0.5 are successes):
   * for a boundary signal an attempt of the same policy, for a forgetting signal the latest one of an earlier policy.
   */
  async findCounterpart(
    campaignId: number,
    { kind, trajectoryId }: Pick<FeedbackSignal, 'kind' | 'trajectoryId'>,
  ): Promise<string | null> {
    const { rows } = await pool.query<{ id: string }>(
      `select o.id
       from trajectories t
       join policies p on p.campaign_id = t.campaign_id and p.id = t.policy_id
       join trajectories o on o.campaign_id = t.campaign_id and o.task_id = t.task_id and o.purpose = t.purpose
         and o.outcome = 'scored' and (o.reward >= 0.5) <> (t.reward >= 0.5)
       join policies q on q.campaign_id = o.campaign_id and q.id = o.policy_id and q.role = p.role
       where t.campaign_id = $1::integer and t.id = $2
         and case when $3 = 'boundary' then o.iteration = t.iteration and o.policy_id = t.policy_id
             else (o.iteration, o.attempt) < (t.iteration, t.attempt)
               and (o.iteration, o.policy_id) <> (t.iteration, t.policy_id) end
       order by o.iteration desc, abs(o.reward - t.reward) desc, o.attempt desc, o.id
       limit 1`,
      [campaignId, trajectoryId, kind],
    );
    return rows[0]?.id ?? null;
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
function numbering(iteration: number) {
  const next = new Map<FeedbackSignalKind, number>();
  return (signal: FeedbackSignal) => {
    const ordinal = next.get(signal.kind) ?? 0;
    next.set(signal.kind, ordinal + 1);
    return { ...signal, ordinal, id: feedbackSignalId(iteration, signal.kind, ordinal) };
  };
}

export type FeedbackSignalStore = ReturnType<typeof feedbackSignalStore>;
