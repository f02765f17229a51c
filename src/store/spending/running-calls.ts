import type { ClientBase, Pool } from 'pg';
import type { ModelPurpose } from '../../domain/campaign/iteration-plan';
import type { Phase } from '../../domain/campaign/phases';
import { sql } from '../database/sql';

/** Requests of one purpose without an answer yet, and since when the oldest one waits. */
export type WaitingCalls = { purpose: ModelPurpose; provider: string; calls: number; since: Date };

type InPhase = { iteration: number; phase: Phase };

/** Work of language models in a running phase. */
export type RunningCalls = InPhase & {
  /** Exploration runs that are stored. */
  runs: number;
  /** Answered calls, and their tokens. */
  calls: number;
  tokens: number;
  waiting: WaitingCalls[];
  /** Providers of the campaign whose breaker is open, and until when nothing is sent to them. */
  closed: { provider: string; until: Date }[];
};

/** Returns what language models have done since a phase began, and what it waits for; null if it has called none. */
export async function getRunningCalls(
  client: Pool | ClientBase,
  campaignId: number,
  { iteration, phase, startedAt }: InPhase & { startedAt: Date },
): Promise<RunningCalls | null> {
  const { rows } = await client.query<Omit<RunningCalls, 'iteration' | 'phase' | 'waiting' | 'closed'> & Listed>(sql`
    with requests as (
      select * from model_requests
      where campaign_id = ${campaignId}::integer and iteration = ${iteration}::smallint and reserved_at >= ${startedAt}
    ), answered as (
      select count(*)::integer as calls, coalesce(sum(c.prompt_tokens + c.completion_tokens), 0)::integer as tokens
      from requests t join model_calls c on c.campaign_id = t.campaign_id and c.id = t.call_id and c.request = t.ordinal
    ), waiting as (
      select purpose, provider, count(distinct call_id)::integer as calls, min(reserved_at) as since
      from requests t
      where outcome is null and not exists (select from model_calls c
          where c.campaign_id = t.campaign_id and c.id = t.call_id)
        and not exists (select from model_requests later where later.campaign_id = t.campaign_id
          and later.call_id = t.call_id and later.ordinal > t.ordinal)
      group by purpose, provider
    ), closed as (
      select name as provider, open_until as until from providers
      where open_until > now() and name in (select provider from requests)
    )
    select answered.*, (select count(*)::integer from exploration_runs r
        where r.campaign_id = ${campaignId}::integer and r.recorded_at >= ${startedAt}) as runs,
      (select coalesce(jsonb_agg(w order by w.purpose, w.provider), '[]') from waiting w) as waiting,
      (select coalesce(jsonb_agg(c order by c.provider), '[]') from closed c) as closed
    from answered where exists (select from requests)`);
  const row = rows[0];
  if (!row) return null;
  return {
    iteration,
    phase,
    ...row,
    waiting: row.waiting.map((one) => ({ ...one, since: new Date(one.since) })),
    closed: row.closed.map((one) => ({ ...one, until: new Date(one.until) })),
  };
}

/** Lists in JSON, whose times are texts. */
type Listed = {
  waiting: (Omit<WaitingCalls, 'since'> & { since: string })[];
  closed: { provider: string; until: string }[];
};
