import type { Pool } from 'pg';
import type { ModelPurpose } from '../../domain/campaign/iteration-plan';
import type { ChatMessage } from '../../domain/rollout/turn';
import { raw, sql } from '../database/sql';

/** Conditions of a list of calls; an absent one holds for every call. `ids`: the calls with exactly these ids. */
export type CallFilter = { iteration?: number; purpose?: ModelPurpose; ids?: readonly string[] };

export type StoredCall = {
  id: string;
  iteration: number;
  purpose: ModelPurpose;
  provider: string;
  model: string;
  /** Names and versions of the prompt, such as `reflection@1+repair@1`. */
  prompt: string;
  /** A reply of `src/llm/request.ts`; null for an embedding. */
  answer: unknown;
  promptTokens: number;
  completionTokens: number;
  usd: number;
  seconds: number;
  recordedAt: Date;
};

/** `messages` is null for an embedding, and for a call of release 0.1.0. */
export type WholeCall = StoredCall & { messages: ChatMessage[] | null };

const columns = `id, iteration, purpose, provider, model, prompt,
  case when purpose <> 'embedding' then answer end as answer, prompt_tokens as "promptTokens",
  completion_tokens as "completionTokens", usd, seconds, recorded_at as "recordedAt"`;

/** Lists the answered calls of a campaign in the order of their answers. */
export async function listCalls(pool: Pool, campaignId: number, filter: CallFilter = {}): Promise<StoredCall[]> {
  const { rows } = await pool.query<StoredCall>(sql`
    select ${raw(columns)} from model_calls
    where campaign_id = ${campaignId}::integer
      and (${filter.iteration ?? null}::smallint is null or iteration = ${filter.iteration ?? null}::smallint)
      and (${filter.purpose ?? null}::text is null or purpose = ${filter.purpose ?? null}::text)
      and (${filter.ids ?? null}::text[] is null or id = any (${filter.ids ?? null}::text[]))
    order by recorded_at, id`);
  return rows;
}

/** Returns a call with its messages; undefined without a call of this id. */
export async function findCall(pool: Pool, campaignId: number, id: string): Promise<WholeCall | undefined> {
  const { rows } = await pool.query<WholeCall>(sql`
    select ${raw(columns)}, messages from model_calls where campaign_id = ${campaignId}::integer and id = ${id}`);
  return rows[0];
}

export type AskedModel = Pick<StoredCall, 'purpose' | 'provider' | 'model'> & { limit: number };

/** Lists the newest calls whose answer was final: neither repaired nor requested again in short. The newest one is first. */
export async function listFinalCalls(
  pool: Pool,
  campaignId: number,
  { purpose, provider, model, limit }: AskedModel,
): Promise<StoredCall[]> {
  const { rows } = await pool.query<StoredCall>(sql`
    select ${raw(columns)} from model_calls c
    where campaign_id = ${campaignId}::integer and purpose = ${purpose} and provider = ${provider}
      and model = ${model}
      and not exists (select from model_calls later where later.campaign_id = c.campaign_id
        and later.id in (c.id || '/repair', c.id || '/shorten'))
    order by recorded_at desc, id desc
    limit ${limit}::integer`);
  return rows;
}
