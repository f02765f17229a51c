import type { ClientBase } from 'pg';
import type { ModelPurpose } from '../../domain/campaign/iteration-plan';
import { sql } from '../database/sql';

type Queryable = Pick<ClientBase, 'query'>;

/** Cost of answered requests, wasted ones included. */
export type ModelSpending = {
  iteration: number;
  purpose: ModelPurpose;
  provider: string;
  model: string;
  calls: number;
  tokens: number;
  usd: number;
  seconds: number; // summed over calls, many of which ran in parallel
  estimated: number; // calls whose server returned no usage
};

export async function listModelSpending(client: Queryable, campaignId: number): Promise<ModelSpending[]> {
  const { rows } = await client.query<ModelSpending>(sql`
    select t.iteration, t.purpose, t.provider, t.model, count(*)::integer as calls,
      coalesce(sum(tokens.amount), 0) as tokens, coalesce(sum(usd.amount), 0) as usd,
      sum(t.seconds)::float8 as seconds, count(*) filter (where t.estimated)::integer as estimated
    from model_requests t
    left join ledger tokens on tokens.campaign_id = t.campaign_id and tokens.entry = 'settle'
      and tokens.key = 'call/' || t.call_id || '/' || t.ordinal and tokens.unit = 'llm-tokens'
    left join ledger usd on usd.campaign_id = t.campaign_id and usd.entry = 'settle'
      and usd.key = 'call/' || t.call_id || '/' || t.ordinal and usd.unit = 'usd'
    where t.campaign_id = ${campaignId}::integer and t.outcome = 'answered'
    group by t.iteration, t.purpose, t.provider, t.model
    order by t.iteration, t.purpose, t.provider, t.model`);
  return rows;
}

export type Cost = { calls: number; tokens: number; usd: number };

/**
 * Cost of requests whose answer was not used. `confirmed`: requests answered after another request of the same call.
 * `unconfirmed`: reservations of requests without a response, which are their maximum cost; the provider's log shows
 * whether they were charged.
 */
export type Waste = { confirmed: Cost; unconfirmed: Cost };

export async function getWaste(client: Queryable, campaignId: number): Promise<Waste> {
  const { rows } = await client.query<Cost>(sql`
    select count(*)::integer as calls, coalesce(sum(tokens.amount), 0) as tokens, coalesce(sum(usd.amount), 0) as usd
    from model_requests t
    left join model_calls c on c.campaign_id = t.campaign_id and c.id = t.call_id
    left join ledger tokens on tokens.campaign_id = t.campaign_id and tokens.entry = 'settle'
      and tokens.key = 'call/' || t.call_id || '/' || t.ordinal and tokens.unit = 'llm-tokens'
    left join ledger usd on usd.campaign_id = t.campaign_id and usd.entry = 'settle'
      and usd.key = 'call/' || t.call_id || '/' || t.ordinal and usd.unit = 'usd'
    where t.campaign_id = ${campaignId}::integer and t.outcome = 'answered' and c.request is distinct from t.ordinal`);
  const unconfirmedRequests = await listUnconfirmed(client, campaignId);
  const unconfirmed = unconfirmedRequests.reduce(
    (sum, { tokens, usd }) => ({ calls: sum.calls + 1, tokens: sum.tokens + tokens, usd: sum.usd + usd }),
    { calls: 0, tokens: 0, usd: 0 },
  );
  return { confirmed: rows[0]!, unconfirmed };
}

export type UnconfirmedRequest = {
  /** Header x-client-request-id of the request, for a search in the provider's log. */
  requestId: string;
  iteration: number;
  purpose: ModelPurpose;
  provider: string;
  model: string;
  tokens: number;
  usd: number;
  reservedAt: Date;
};

/**
 * Lists requests that will get no response: their call is answered or has a later request, or a phase of the iteration
 * was committed after them.
 */
export async function listUnconfirmed(client: Queryable, campaignId: number): Promise<UnconfirmedRequest[]> {
  const { rows } = await client.query<UnconfirmedRequest>(sql`
    select campaigns.name || '/' || t.call_id || '/' || t.ordinal as "requestId", t.iteration, t.purpose, t.provider,
      t.model, tokens.amount as tokens, usd.amount as usd, t.reserved_at as "reservedAt"
    from model_requests t
    join campaigns on campaigns.id = t.campaign_id
    join ledger tokens on tokens.campaign_id = t.campaign_id and tokens.entry = 'reserve'
      and tokens.key = 'call/' || t.call_id || '/' || t.ordinal and tokens.unit = 'llm-tokens'
    join ledger usd on usd.campaign_id = t.campaign_id and usd.entry = 'reserve'
      and usd.key = 'call/' || t.call_id || '/' || t.ordinal and usd.unit = 'usd'
    where t.campaign_id = ${campaignId}::integer and (t.outcome = 'unconfirmed' or t.outcome is null
      and (exists (select from model_calls c where c.campaign_id = t.campaign_id and c.id = t.call_id)
        or exists (select from model_requests later
          where later.campaign_id = t.campaign_id and later.call_id = t.call_id and later.ordinal > t.ordinal)
        or exists (select from phases p
          where p.campaign_id = t.campaign_id and p.iteration = t.iteration and p.finished_at > t.reserved_at)))
    order by t.reserved_at, t.call_id, t.ordinal`);
  return rows;
}
