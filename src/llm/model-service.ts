import type { z } from 'zod';
import { sha256 } from '../files/sha256';
import { canonicalJson } from '../domain/canonical-json';
import { DomainError } from '../domain/errors';
import type { CampaignSpec } from '../specification/campaign-spec';
import { providerClient, type CallStore, type PaidCall, type ProviderClient } from './provider-client';
import { promptId } from './prompts/prompt';
import { requireProviders, type Providers } from './providers';
import type { EmbeddingRequest, FinalReply, ModelRequest, Reply, Structured } from './request';
import { readStructured } from './read-structured';
import { repairPrompt } from './prompts/repair';
import { shortenPrompt } from './prompts/shorten';
import { responseFormatOf } from './response-format';
import { estimatePrompt, estimateText } from './token-estimate';
import { packVectors, unitVectors, type PackedVectors } from './unit-vectors';

export type { EmbeddingRequest, FinalReply, ModelRequest, Reply, Structured } from './request';

/** Language models of a campaign, within its budget and the rate limits of their providers. */
export type ModelService = {
  /**
   * Returns the reply. A reply that was cut off is requested once more, in short, by a second call `<callId>/shorten`, unless
   * the request is final.
   *
   * @throws DomainError `BudgetReached`, `UnknownProvider`, `NoProviders`, `StaleEpoch`; ModelError; the signal's reason
   */
  complete(spec: CampaignSpec, request: ModelRequest): Promise<FinalReply>;
  /**
   * Returns the JSON object of the reply, parsed with `schema`; fences and prose around it are allowed. An answer that is
   * malformed is repaired once, by a second call `<callId>/repair` that quotes the mistakes, and one that was cut off is
   * requested once more, in short, as `<callId>/shorten`. If the second answer is unusable too, returns its failure.
   */
  completeStructured<T>(spec: CampaignSpec, request: ModelRequest, schema: z.ZodType<T>): Promise<Structured<T>>;
  /** Returns unit vectors [texts][dimension]; null without an embedding model. Batches are stored calls `<callId>/<batch>`. */
  embed(spec: CampaignSpec, request: EmbeddingRequest): Promise<number[][] | null>;
};

export type ModelServiceDependencies = { store: CallStore; providers: Providers };

/** Creates the service for all campaigns of a worker. */
export function createModelService({ store, providers }: ModelServiceDependencies): ModelService {
  const clients = new Map([...providers].map(([name, provider]) => [name, providerClient(store, provider)]));
  return {
    async complete(spec, request) {
      const target = targetOf(spec, request.purpose);
      const reply = await ask(target, spec, request);
      const shorter = request.isFinal ? undefined : shorterOf(request, reply);
      const { callId } = shorter ?? request;
      return { ...(shorter ? await ask(target, spec, shorter) : reply), callId };
    },

    async completeStructured(spec, request, schema) {
      const target = targetOf(spec, request.purpose);
      const reply = await ask(target, spec, { ...request, schema });
      const first = readStructured(reply, schema);
      const second = first.ok ? undefined : (shorterOf(request, reply) ?? repairOf(request, reply, first.problems));
      if (!second) return toStructured(first, request.callId);
      return toStructured(readStructured(await ask(target, spec, { ...second, schema }), schema), second.callId);
    },

    async embed(spec, request) {
      if (!spec.llm?.models.embedding) return null;
      const target = targetOf(spec, 'embedding');
      const vectors: number[][] = [];
      for (let from = 0; from < request.texts.length; from += batchSize)
        vectors.push(...(await embedBatch(target, spec, request, from)));
      return vectors;
    },
  };

  function targetOf(spec: CampaignSpec, purpose: keyof Models): ProviderClient {
    requireProviders(spec, providers);
    const model = spec.llm?.models[purpose];
    if (!model) throw new DomainError('NoModel', `llm.models.${purpose}: found nothing, expected a model`);
    return clients.get(model.provider)!;
  }
}

type Models = NonNullable<CampaignSpec['llm']>['models'];

/** `isShort`: a second request, for which the reasoning effort is lowered. `schema`: of an answer in JSON. */
type Asked = ModelRequest & { isShort?: boolean; schema?: z.ZodType };

async function ask(client: ProviderClient, spec: CampaignSpec, request: Asked): Promise<Reply> {
  const { key, callId, purpose, prompt, messages, seed, signal, schema, isShort } = request;
  const { provider, price, structured, maxTokens, thinkingTokens, ...settings } = spec.llm!.models[purpose];
  const { model, reasoningEffort: effort } = settings;
  const chat = {
    ...settings,
    messages,
    seed: settings.seed === null ? null : seed,
    tokenLimit: maxTokens + thinkingTokens,
    reasoningEffort: isShort && effort !== null && !lowEfforts.includes(effort) ? 'low' : effort,
    responseFormat: responseFormatOf(structured, prompt, schema),
  };
  const paid: PaidCall<Reply> = {
    call: {
      key,
      callId,
      purpose,
      provider,
      model,
      prompt,
      messages,
      requestSha256: sha256(canonicalJson(chat)),
    },
    campaign: spec.name,
    price,
    signal,
    estimate: { promptTokens: estimatePrompt(messages), completionTokens: chat.tokenLimit },
    async send(api, sent) {
      const { reply, usage } = await api.chat({ ...chat, ...sent, signal });
      return { answer: reply, usage };
    },
  };
  return client(paid);
}

const lowEfforts = ['none', 'minimal', 'low'];

/** Returns the second request after a cut-off; undefined after another reply, and where no shorter answer would fit. */
function shorterOf(request: ModelRequest, reply: Reply): Asked | undefined {
  if (reply.kind !== 'cut-off' || reply.at === 'context') return undefined;
  return {
    ...request,
    callId: `${request.callId}/shorten`,
    prompt: `${request.prompt}+${promptId(shortenPrompt)}`,
    isShort: true,
    messages: shortenPrompt.render({ messages: request.messages, answer: reply.text }),
  };
}

/** Returns the second request after a malformed answer; undefined after another reply. */
function repairOf(request: ModelRequest, reply: Reply, problems: readonly string[]): ModelRequest | undefined {
  if (reply.kind !== 'text') return undefined;
  return {
    ...request,
    callId: `${request.callId}/repair`,
    prompt: `${request.prompt}+${promptId(repairPrompt)}`,
    messages: repairPrompt.render({ messages: request.messages, answer: reply.text, problems }),
  };
}

function toStructured<T>(read: ReturnType<typeof readStructured<T>>, callId: string): Structured<T> {
  if (read.ok) return { ...read, callId };
  return { ok: false, failure: read.failure, detail: read.problems.join('; '), callId };
}

/** Texts per request; common servers accept this number. */
const batchSize = 64;

async function embedBatch(
  client: ProviderClient,
  spec: CampaignSpec,
  { key, callId, texts, signal }: EmbeddingRequest,
  from: number,
): Promise<number[][]> {
  const { provider, model, price } = spec.llm!.models.embedding!;
  const batch = texts.slice(from, from + batchSize).map((text) => text.trim() || ' '); // servers reject an empty text
  const paid: PaidCall<PackedVectors> = {
    call: {
      key,
      callId: `${callId}/${from / batchSize}`,
      purpose: 'embedding',
      provider,
      model,
      prompt: 'none',
      requestSha256: sha256(canonicalJson({ model, input: batch })),
    },
    campaign: spec.name,
    price,
    signal,
    estimate: { promptTokens: estimateText(batch.join('\n')), completionTokens: 0 },
    async send(api, sent) {
      const { vectors, usage } = await api.embed({ model, texts: batch, ...sent, signal });
      return { answer: packVectors(vectors), usage };
    },
  };
  return unitVectors(await client(paid));
}
