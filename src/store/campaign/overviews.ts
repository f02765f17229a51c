import type { Pool } from 'pg';
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
  const { rows } = await pool.query<Wait>(`select wait.* from campaigns c ${joinWait} where c.id = $1::integer`, [
    campaignId,
  ]);
  return rows[0] ?? { waitsFor: null, waitsSince: null, awaits: null };
}

/** The wait of the campaign `c`, from the event with which it began. */
const joinWait = `
  left join lateral (
    select case c.status when 'parked' then detail ->> 'reason'
        else 'paused by ' || actor || coalesce(': ' || (detail ->> 'reason'), '') end as "waitsFor",
      recorded_at as "waitsSince", case c.status when 'parked' then detail ->> 'awaits' end as awaits
    from events where campaign_id = c.id and kind = c.status and c.status in ('parked', 'paused')
    order by id desc limit 1) wait on true`;

const selectOverviews = `
  select c.id, (c.spec ->> 'iterations')::integer as iterations, current.number as iteration, begun.phase,
    scored.success,
    greatest(c.created_at, begun.at, logged.at, played.at, trained.at) as "progressAt",
    coalesce((select sum(amount) from ledger where campaign_id = c.id and unit = 'usd' and entry = 'settle'), 0) as usd,
    case c.status when 'running' then extract(epoch from now() - begun.started_at)::float8 end as "inPhase", past.phases as past,
    wait.*
  from campaigns c
  ${joinWait}
  left join lateral (
    select number from iterations where campaign_id = c.id order by number desc limit 1) current on true
  left join lateral (
    select phase, started_at, greatest(started_at, finished_at) as at from phases
    where campaign_id = c.id and iteration = current.number order by started_at desc limit 1) begun on true
  left join lateral (
    select successes::float8 / nullif(tasks, 0) as success
    from active_policies a join evaluations e on e.campaign_id = a.campaign_id and e.policy_id = a.policy_id
    where a.campaign_id = c.id and a.role = 'target' and e.evaluation_set = 'dev'
    order by e.iteration desc limit 1) scored on true
  left join lateral (select max(recorded_at) as at from events where campaign_id = c.id) logged on true
  left join lateral (
    select max(recorded_at) as at from trajectories
    where c.finished_at is null and campaign_id = c.id and iteration = current.number) played on true
  left join lateral (
    select max(p.recorded_at) as at from training_progress p join training_runs r on r.job_key = p.job_key
    where c.finished_at is null and r.campaign_id = c.id and r.iteration = current.number) trained on true
  left join lateral (
    select jsonb_agg(jsonb_build_object('iteration', iteration, 'phase', phase, 'seconds',
      case when not exists (
        select from events where campaign_id = c.id and kind in ('paused', 'parked') and recorded_at between started_at and finished_at
      ) then extract(epoch from finished_at - started_at) end) order by started_at) as phases
    from phases where c.finished_at is null and campaign_id = c.id and iteration between 1 and current.number - 1
      and finished_at is not null) past on true
  order by c.id`;
