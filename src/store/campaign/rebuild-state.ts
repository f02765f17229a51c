import type { Pool } from 'pg';
import type { CampaignState } from '../../domain/campaign/progress';
import { DomainError } from '../../domain/errors';
import { listEvaluated } from '../training/evaluated-iterations';

/**
 * Rebuilds the state of a campaign's workflow from the database alone. It resumes at the first unfinished iteration, or
 * at the last one if all are finished, with that iteration's epoch if it is above 1. Commands to abort or stop stay in
 * force.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function rebuildState(pool: Pool, campaignId: number): Promise<CampaignState> {
  const { rows } = await pool.query<StateRow>(selectState, [campaignId]);
  const row = rows[0];
  if (!row) throw new DomainError('UnknownCampaign', `no campaign has the id ${campaignId}`);
  const { iteration, epoch, pausedBy, abortedBy, ...campaign } = row;
  const scores = await listEvaluated(pool, campaignId);
  return {
    campaignId,
    ...campaign,
    status: pausedBy === null ? 'running' : 'paused',
    progress: { iteration, phase: 'plan', note: null, parked: null, score: scores.at(-1)?.score ?? null },
    ...(epoch > 1 ? { epoch } : {}),
    pausedBy,
    ...(abortedBy === null ? {} : { abortedBy }),
    scores,
  };
}

type StateRow = Pick<CampaignState, 'name' | 'recipe' | 'environment' | 'iterations' | 'stopping' | 'pausedBy'> & {
  iteration: number;
  epoch: number;
  abortedBy: string | null;
};

const selectState = `
  select c.name, c.recipe, c.environment, (c.spec ->> 'iterations')::integer as iterations,
    next.iteration, coalesce(i.epoch, 1) as epoch,
    exists (select from events where campaign_id = c.id and kind = 'stopping') as stopping,
    (select actor from events where campaign_id = c.id and kind = 'aborting' order by id desc limit 1) as "abortedBy",
    case when c.status = 'paused' then coalesce(
      (select actor from events where campaign_id = c.id and kind = 'paused' order by id desc limit 1), 'unknown')
    end as "pausedBy"
  from campaigns c
  cross join lateral (
    select least(coalesce(max(number) + 1, 0), (c.spec ->> 'iterations')::integer) as iteration
    from iterations where campaign_id = c.id and finished_at is not null) next
  left join iterations i on i.campaign_id = c.id and i.number = next.iteration
  where c.id = $1::integer`;
