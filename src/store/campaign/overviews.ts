import type { Pool } from 'pg';
import type { ParkedCode } from '../../domain/campaign/parked-reasons';
import type { Phase } from '../../domain/campaign/phases';
import { addPhaseSeconds, remainingTime } from '../../domain/campaign/remaining-time';

/** Where a campaign is, for lists of all campaigns. */
export type CampaignOverview = {
  id: number;
  iterations: number;
  /** The last iteration that began and its last phase; null before the first one. */
  iteration: number | null;
  phase: Phase | null;
  /** Success on dev of the active target policy at its last evaluation, in [0, 1]; null before one. */
  success: number | null;
  /** Time of the last stored attempt, update of a training, phase or event. */
  progressAt: Date;
  /** Spending on language models and GPUs in USD. */
  usd: number;
  /** Estimate as in the UI, less the time of the current phase; null without one, and for a campaign that does not run. */
  secondsLeft: number | null;
  /** What the campaign waits for: the reason of its parking, or who paused it and why. Null while it waits for nothing. */
  waitsFor: string | null;
  /** Why the campaign is parked (docs/parked.md). Is null while it is not, and after release 0.1.0 has parked it. */
  parkedCode: ParkedCode | null;
  /** Since when it waits. */
  waitsSince: Date | null;
  /** Address of the server whose answer ends the wait without an operator; null where nothing does. */
  awaits: string | null;
};

type Wait = Pick<CampaignOverview, 'waitsFor' | 'waitsSince' | 'awaits'>;

/** Lists the overviews of all campaigns in the order of their start. */
export async function listOverviews(pool: Pool): Promise<CampaignOverview[]> {
  const { rows } = await pool.query<OverviewRow>(selectOverviews);
  return rows.map(({ inPhase, past, ...row }) => ({ ...row, secondsLeft: secondsLeft(row, inPhase, past ?? []) }));
}

type OverviewRow = Omit<CampaignOverview, 'secondsLeft'> & {
  /** Seconds since the current phase began; null for a campaign that does not run. */
  inPhase: number | null;
  /** Finished phases between the start and the current iteration, in their order. */
  past: { iteration: number; phase: Phase; seconds: number | null }[] | null;
};

function secondsLeft(
  { iteration, iterations, phase }: Omit<CampaignOverview, 'secondsLeft'>,
  inPhase: number | null,
  past: NonNullable<OverviewRow['past']>,
): number | null {
  if (iteration === null || phase === null || inPhase === null) return null;
  const rows = past.map((row) => ({ ...row, note: null }));
  const planned = rows.filter((row) => row.iteration === iteration - 1);
  const remaining = remainingTime(addPhaseSeconds({}, rows), planned, phase, iterations - iteration);
  return remaining && Math.max(0, remaining.seconds - inPhase);
}

/** Returns the wait of one campaign, as in its overview. */
export async function findWait(pool: Pool, campaignId: number): Promise<Wait> {
  const { rows } = await pool.query<Wait>(
    `select waits_for as "waitsFor", waits_since as "waitsSince", awaits from reporting.campaigns where id = $1::integer`,
    [campaignId],
  );
  return rows[0] ?? { waitsFor: null, waitsSince: null, awaits: null };
}

const selectOverviews = `
  select c.id, c.iterations, c.iteration, c.phase, c.success, c.progress_at as "progressAt", c.usd,
    case c.status when 'running' then extract(epoch from now() - c.phase_started_at)::float8 end as "inPhase",
    (select jsonb_agg(jsonb_build_object('iteration', p.iteration, 'phase', p.phase,
        'seconds', case when not p.interrupted then p.seconds end) order by p.started_at)
      from reporting.phases p
      where c.finished_at is null and p.campaign_id = c.id and p.iteration between 1 and c.iteration - 1
        and p.finished_at is not null) as past,
    c.waits_for as "waitsFor", c.waits_code as "parkedCode", c.waits_since as "waitsSince", c.awaits
  from reporting.campaigns c
  order by c.id`;
