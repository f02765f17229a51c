import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import type { Phase } from '../../domain/campaign/phases';
import { assertEpoch, epochError, stateMismatchError, type IterationKey } from '../database/epoch';
import { openInNextEpoch, raiseEpochs, type RaisedEpoch } from './raise-epochs';
import { sql } from '../database/sql';

export type { IterationKey };

export type PhaseKey = IterationKey & { phase: Phase; previous: Phase | null };

export const iterationStore = (pool: Pool) => ({ ...openings(pool), ...commits(pool) });

/** Opens and closes iterations, and assigns them to epochs. */
const openings = (pool: Pool) => ({
  /** Opens an iteration in the highest epoch of those before it, or finds it open. Returns its epoch. */
  async open(campaignId: number, iteration: number): Promise<number> {
    const { rows } = await pool.query<{ epoch: number }>(sql`
      insert into iterations (campaign_id, number, epoch)
      select ${campaignId}::integer, ${iteration}::smallint, coalesce(max(epoch), 1)
      from iterations where campaign_id = ${campaignId}::integer and number < ${iteration}::smallint
      on conflict (campaign_id, number) do update set number = excluded.number -- no change, returns the row
      returning epoch`);
    return rows[0]!.epoch;
  },

  /**
   * Opens an iteration for a workflow run, or finds it open for that run. Returns the run's epoch.
   *
   * @param epoch null for the first run of the iteration
   * @throws DomainError `StateMismatch` when the previous iteration is not finished in the database, `StaleEpoch` when
   *   a later run owns the iteration
   */
  async openNext(campaignId: number, iteration: number, epoch: number | null): Promise<number> {
    const { rows } = await pool.query<{ finished: boolean | null; first: number }>(sql`
      select bool_or(finished_at is not null) filter (where number = ${iteration}::smallint - 1) as finished,
        coalesce(max(epoch), 1) as first
      from iterations where campaign_id = ${campaignId}::integer and number < ${iteration}::smallint`);
    const { finished, first } = rows[0]!;
    if (iteration > 0 && !finished)
      throw await stateMismatchError(
        pool,
        campaignId,
        `iteration ${iteration} started before iteration ${iteration - 1} finished`,
      );
    if (epoch === null) await this.open(campaignId, iteration);
    await assertEpoch(pool, { campaignId, iteration, epoch: epoch ?? first });
    return epoch ?? first;
  },

  /**
   * Finishes an iteration and deletes its remaining journal rows.
   *
   * @throws DomainError `StaleEpoch`, `StateMismatch`
   */
  async close(key: IterationKey): Promise<void> {
    const { rowCount } = await pool.query(sql`
      with live as (
        select campaign_id, number from iterations
        where campaign_id = ${key.campaignId}::integer and number = ${key.iteration}::smallint
          and epoch = ${key.epoch}::integer
        for update
      ), leftover as (
        delete from turn_journal t using live where t.campaign_id = live.campaign_id and t.iteration = live.number)
      update iterations i set finished_at = coalesce(finished_at, now())
      from live
      where i.campaign_id = live.campaign_id and i.number = live.number`);
    if (rowCount === 0) throw await epochError(pool, key);
  },

  async isFinished(campaignId: number, iteration: number): Promise<boolean> {
    const { rowCount } = await pool.query(sql`
      select from iterations
      where campaign_id = ${campaignId}::integer and number = ${iteration}::smallint and finished_at is not null`);
    return rowCount === 1;
  },

  /**
   * Raises the epoch of every unfinished iteration, so that workers of the old epoch can no longer write. Committed
   * phases stay committed.
   */
  fence: (campaignId: number): Promise<RaisedEpoch[]> => raiseEpochs(pool, campaignId),

  /**
   * Assigns an iteration to a new workflow run, in an epoch above every epoch of the campaign and above `known`. Opens
   * the iteration if it is the next one. Committed phases stay committed.
   *
   * @param known the highest epoch found elsewhere, such as in Temporal after the database was restored; 0: none
   * @throws DomainError `StateMismatch` when the iteration is finished or the previous one is not
   */
  async nextEpoch(campaignId: number, iteration: number, known = 0): Promise<number> {
    const epoch = await openInNextEpoch(pool, { campaignId, iteration, known });
    if (epoch !== undefined) return epoch;
    throw new DomainError('StateMismatch', `iteration ${iteration} is neither the open one nor the next one`);
  },
});

/** Begins and commits phases of an iteration. */
const commits = (pool: Pool) => ({
  /** Returns the counts of a committed phase; null before its commit. */
  async findCommitted({ campaignId, iteration, epoch, phase }: PhaseKey): Promise<Record<string, number> | null> {
    const { rows } = await pool.query<{ result: Record<string, number> }>(sql`
      select result from phases
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint and phase = ${phase}
        and epoch = ${epoch}::integer
        and finished_at is not null`);
    return rows[0]?.result ?? null;
  },

  /**
   * Begins a phase. Returns true when it is already committed, so that its work is not repeated. The first call in a
   * newer epoch resets the phase: the commit of an older epoch is discarded.
   *
   * @throws DomainError `StateMismatch` when the previous phase is not committed, `StaleEpoch` when a later run owns
   *   the iteration
   */
  async beginPhase({ campaignId, iteration, epoch, phase, previous }: PhaseKey): Promise<boolean> {
    const { rows } = await pool.query<{ committed: boolean }>(sql`
      insert into phases (campaign_id, iteration, phase, epoch, completed_work)
      select ${campaignId}::integer, ${iteration}::smallint, ${phase}, ${epoch}::integer, '{}'
      from iterations i
      where i.campaign_id = ${campaignId}::integer and i.number = ${iteration}::smallint
        and i.epoch = ${epoch}::integer
        and (${previous}::text is null or exists (
          select from phases p
          where p.campaign_id = i.campaign_id and p.iteration = i.number and p.phase = ${previous}::text
            and p.finished_at is not null))
      for share of i
      on conflict (campaign_id, iteration, phase) do update
        set epoch = excluded.epoch,
            started_at = case when phases.epoch = excluded.epoch then phases.started_at else excluded.started_at end,
            completed_work = case when phases.epoch = excluded.epoch then phases.completed_work else excluded.completed_work end,
            finished_at = case when phases.epoch = excluded.epoch then phases.finished_at end,
            result = case when phases.epoch = excluded.epoch then phases.result end
      returning finished_at is not null as committed`);
    const row = rows[0];
    if (row) return row.committed;
    await assertEpoch(pool, { campaignId, iteration, epoch });
    throw await stateMismatchError(
      pool,
      campaignId,
      `phase ${phase} of iteration ${iteration} started before phase ${previous} was committed`,
    );
  },

  /** Records a completed piece of a phase's work, which is checked before the commit. Safe to repeat. */
  async recordWork({ campaignId, iteration, epoch }: IterationKey, phase: Phase, piece: string): Promise<void> {
    await pool.query(sql`
      update phases set completed_work = array_append(completed_work, ${piece}::text)
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint and phase = ${phase}
        and epoch = ${epoch}::integer
        and not ${piece}::text = any (completed_work)`);
  },

  /**
   * Commits a phase with its counts. The first commit is kept.
   *
   * @throws DomainError `StaleEpoch`, `StateMismatch` when the phase was never started
   */
  async commitPhase({ campaignId, iteration, epoch, phase }: PhaseKey, counts: Record<string, unknown>): Promise<void> {
    const { rowCount } = await pool.query(sql`
      update phases set finished_at = coalesce(finished_at, now()), result = coalesce(result, ${counts}::jsonb)
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint and phase = ${phase}
        and epoch = ${epoch}::integer
        and exists (select from iterations i
          where i.campaign_id = ${campaignId}::integer and i.number = ${iteration}::smallint
            and i.epoch = ${epoch}::integer for share)`);
    if (rowCount) return;
    await assertEpoch(pool, { campaignId, iteration, epoch });
    throw await stateMismatchError(pool, campaignId, `phase ${phase} of iteration ${iteration} was never started`);
  },

  async listPhases(campaignId: number): Promise<PhaseRow[]> {
    const { rows } = await pool.query<PhaseRow>(sql`
      select iteration, phase, started_at as "startedAt", finished_at as "finishedAt", result
      from reporting.phases where campaign_id = ${campaignId}::integer
      order by iteration, started_at`);
    return rows;
  },
});

export type PhaseRow = {
  iteration: number;
  phase: Phase;
  startedAt: Date;
  finishedAt: Date | null;
  result: Record<string, unknown> | null;
};

export type IterationStore = ReturnType<typeof iterationStore>;
