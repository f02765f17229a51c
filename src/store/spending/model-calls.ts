import type { Pool, PoolClient } from 'pg';
import type { ModelPurpose } from '../../domain/campaign/iteration-plan';
import { bookReserve, bookSettle, lockBudget, type Budget, type Spending } from './budgets';
import { budgetReached } from './budget-exceeded';
import { epochError, type IterationKey } from '../database/epoch';
import {
  getWaste,
  listModelSpending,
  listUnconfirmed,
  type ModelSpending,
  type UnconfirmedRequest,
  type Waste,
} from './model-spending';
import { inTransaction } from '../database/pool';
import type { ChatMessage } from '../../domain/rollout/turn';
import { listFinalCalls, type AskedModel, type StoredCall } from './list-calls';
import { toJson } from '../database/postgres-text';
import { sql } from '../database/sql';

/** A language-model call. Its id is unique in the campaign, and its first answer is kept. */
export type ModelCall = {
  key: IterationKey;
  callId: string;
  purpose: ModelPurpose;
  provider: string;
  model: string;
  prompt: string;
  requestSha256: string;
  /** Messages of the request; absent for embeddings. */
  messages?: readonly ChatMessage[];
  /** Timeout of one request to the provider: an older open reservation will never be settled. */
  timeoutSeconds: number;
};

/** `busy`: open requests reserve the rest of the budget; the call may fit when they end. */
export type Reservation =
  | { kind: 'answered'; answer: unknown }
  | { kind: 'reserved'; request: number }
  | { kind: 'busy' };

export type Settlement = {
  answer: unknown;
  promptTokens: number;
  completionTokens: number;
  usd: number;
  seconds: number;
  /** True if the server returned no usage and the tokens were counted locally. */
  estimated: boolean;
};

export const modelCallStore = (pool: Pool) => ({
  /** Returns the stored answer, if any. */
  find: (call: FindCall): Promise<{ answer: unknown } | undefined> => findAnswer(pool, call),

  /**
   * Reserves the maximum cost of another request of a call, unless the call is answered.
   *
   * @throws DomainError `BudgetReached`, `StaleEpoch`
   */
  reserve: (call: ModelCall, estimate: Spending): Promise<Reservation> =>
    inTransaction(pool, async (client) => {
      const { campaignId } = call.key;
      const budget = await lockBudget(client, campaignId);
      const found = await findAnswer(client, call);
      if (found) return { kind: 'answered', answer: found.answer };
      if (!fits(budget, estimate)) {
        const open = await sumOpen(client, campaignId, call.timeoutSeconds);
        if (fits(without(budget, open), estimate)) return { kind: 'busy' };
        throw await budgetReached(client, campaignId, { ...budget, needed: estimate });
      }
      const number = await insertRequest(client, call);
      await bookReserve(client, campaignId, ledgerKey(call.callId, number), estimate);
      return { kind: 'reserved', request: number };
    }),

  /**
   * Stores the answer to a request and books its cost. The first answer of a call is kept; every answered request is
   * paid. Returns the stored answer.
   *
   * @throws DomainError `StaleEpoch` when no answer is stored because a later run owns the iteration
   */
  async settle(call: ModelCall, number: number, settlement: Settlement): Promise<unknown> {
    const stored = await inTransaction(pool, async (client) => {
      await lockBudget(client, call.key.campaignId);
      if (await endRequest(client, call, number, { outcome: 'answered', ...settlement })) {
        await insertAnswer(client, call, number, settlement);
        const llmTokens = settlement.promptTokens + settlement.completionTokens;
        const cost = { llmTokens, usd: settlement.usd };
        await bookSettle(client, call.key.campaignId, ledgerKey(call.callId, number), cost);
      }
      return findAnswer(client, call);
    });
    if (stored) return stored.answer;
    throw await epochError(pool, call.key);
  },

  /** Releases the whole reservation of a request that was certainly not charged. */
  release: (call: ModelCall, number: number): Promise<void> =>
    inTransaction(pool, async (client) => {
      await lockBudget(client, call.key.campaignId);
      if (await endRequest(client, call, number, { outcome: 'not-charged' }))
        await bookSettle(client, call.key.campaignId, ledgerKey(call.callId, number), null);
    }),

  listSpending: (campaignId: number): Promise<ModelSpending[]> => listModelSpending(pool, campaignId),

  getWaste: (campaignId: number): Promise<Waste> => getWaste(pool, campaignId),

  /** Lists the newest final answers of a model for one purpose, newest first. */
  listFinal: (campaignId: number, asked: AskedModel): Promise<StoredCall[]> => listFinalCalls(pool, campaignId, asked),

  listUnconfirmed: (campaignId: number): Promise<UnconfirmedRequest[]> => listUnconfirmed(pool, campaignId),
});

type FindCall = Pick<ModelCall, 'key' | 'callId' | 'requestSha256'>;

const ledgerKey = (callId: string, number: number): string => `call/${callId}/${number}`;

/**
 * Finds the answer by the call's id: a worker of a newer version with another prompt gets the answer that was paid for.
 * Only a run of a newer epoch sends another request, and only if its request differs.
 */
async function findAnswer(
  client: Pick<PoolClient, 'query'>,
  { key, callId, requestSha256 }: FindCall,
): Promise<{ answer: unknown } | undefined> {
  const { rows } = await client.query<{ answer: unknown }>(sql`
    select answer from model_calls
    where campaign_id = ${key.campaignId}::integer and id = ${callId} and (epoch >= ${key.epoch}::integer
      or request_sha256 = ${requestSha256})`);
  return rows[0];
}

/** Tolerance for rounding in sums of dollars, so that three calls fit a budget of three. */
const rounding = 1e-9;

const fits = ({ limit, committed }: Budget, { llmTokens, usd }: Spending): boolean =>
  committed.llmTokens + llmTokens <= (limit.llmTokens ?? Infinity) &&
  committed.usd + usd <= (limit.usd ?? Infinity) + rounding;

const without = ({ limit, committed }: Budget, { llmTokens, usd }: Spending): Budget => ({
  limit,
  committed: { llmTokens: committed.llmTokens - llmTokens, usd: committed.usd - usd },
});

/** Sums the reservations of requests that can still be in flight. */
async function sumOpen(client: PoolClient, campaignId: number, seconds: number): Promise<Spending> {
  const { rows } = await client.query<Spending>(sql`
    select coalesce(sum(amount) filter (where unit = 'llm-tokens'), 0) as "llmTokens",
      coalesce(sum(amount) filter (where unit = 'usd'), 0) as usd
    from model_requests t
    join ledger l on l.campaign_id = t.campaign_id and l.key = 'call/' || t.call_id || '/' || t.ordinal
      and l.entry = 'reserve'
    where t.campaign_id = ${campaignId}::integer and t.outcome is null
      and t.reserved_at > now() - ${seconds}::float8 * interval '1 second'`);
  return rows[0]!;
}

/** @throws DomainError `StaleEpoch` when a later run owns the iteration */
async function insertRequest(client: PoolClient, call: ModelCall): Promise<number> {
  const { campaignId, iteration, epoch } = call.key;
  const { rows } = await client.query<{ ordinal: number }>(sql`
    insert into model_requests (campaign_id, call_id, ordinal, iteration, epoch, purpose, provider, model)
    select ${campaignId}::integer, ${call.callId}, (select coalesce(max(ordinal), 0) + 1 from model_requests
      where campaign_id = ${campaignId}::integer and call_id = ${call.callId}), ${iteration}::smallint,
        ${epoch}::integer, ${call.purpose}, ${call.provider}, ${call.model}
    from iterations i
    where i.campaign_id = ${campaignId}::integer and i.number = ${iteration}::smallint and i.epoch = ${epoch}::integer
    for share
    returning ordinal`);
  const row = rows[0];
  if (!row) throw await epochError(client, call.key);
  return row.ordinal;
}

type Ending = { outcome: 'not-charged' } | ({ outcome: 'answered' } & Pick<Settlement, 'seconds' | 'estimated'>);

/** Returns false when the request had already ended. */
async function endRequest(client: PoolClient, call: ModelCall, number: number, ending: Ending): Promise<boolean> {
  const { seconds = null, estimated = null } = ending.outcome === 'answered' ? ending : {};
  const { rowCount } = await client.query(sql`
    update model_requests
    set outcome = ${ending.outcome}, ended_at = now(), seconds = ${seconds}::real, estimated = ${estimated}::boolean
    where campaign_id = ${call.key.campaignId}::integer and call_id = ${call.callId}
      and ordinal = ${number}::smallint and outcome is null`);
  return rowCount === 1;
}

/** Writes nothing when a later run owns the iteration or the call is already answered. */
async function insertAnswer(client: PoolClient, call: ModelCall, number: number, s: Settlement): Promise<void> {
  const { campaignId, iteration, epoch } = call.key;
  await client.query(sql`
    insert into model_calls (campaign_id, id, iteration, epoch, purpose, provider, model, prompt, request_sha256,
      request, answer, prompt_tokens, completion_tokens, usd, seconds, messages)
    select ${campaignId}::integer, ${call.callId}, ${iteration}::smallint, ${epoch}::integer, ${call.purpose},
      ${call.provider}, ${call.model}, ${call.prompt}, ${call.requestSha256}, ${number}::smallint,
      ${toJson(s.answer)}::jsonb, ${s.promptTokens}::integer, ${s.completionTokens}::integer, ${s.usd}::float8,
      ${s.seconds}::real, ${call.messages ? toJson(call.messages) : null}::jsonb
    from iterations i
    where i.campaign_id = ${campaignId}::integer and i.number = ${iteration}::smallint and i.epoch = ${epoch}::integer
    for share
    on conflict (campaign_id, id) do update
      set iteration = excluded.iteration, epoch = excluded.epoch, purpose = excluded.purpose,
        provider = excluded.provider, model = excluded.model, prompt = excluded.prompt,
        request_sha256 = excluded.request_sha256, request = excluded.request, answer = excluded.answer,
        prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens, usd = excluded.usd,
        seconds = excluded.seconds, messages = excluded.messages, recorded_at = now()
      where model_calls.epoch < excluded.epoch and model_calls.request_sha256 <> excluded.request_sha256`);
}

export type ModelCallStore = ReturnType<typeof modelCallStore>;
