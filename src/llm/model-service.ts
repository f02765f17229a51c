import type { z } from 'zod';
import { sha256 } from '../base/sha256';
import { canonicalJson } from '../domain/base/canonical-json';
import { DomainError } from '../domain/base/errors';
import type { CampaignSpec } from '../spec/campaign-spec';
import type { Store } from '../store';
import { providerClient, type PaidCall, type ProviderClient } from './provider-client';
import { promptId } from './prompts/prompt';
import { requireProviders, type Providers } from './providers';
import type { EmbeddingRequest, ModelRequest, Reply, Structured } from './request';
import { readStructured } from './read-structured';
import { repairPrompt } from './prompts/repair';
import { estimatePrompt, estimateText } from './token-estimate';
import { packVectors, unitVectors, type PackedVectors } from './unit-vectors';

export type { EmbeddingRequest, ModelRequest, Reply, Structured } from './request';

/** Language models of a campaign, within its budget and the rate limits of their providers. */
export type ModelService = {
  /** @throws DomainError `BudgetReached`, `UnknownProvider`, `StaleEpoch`; ModelError; the signal's reason */
  complete(spec: CampaignSpec, request: ModelRequest): Promise<Reply>;
  /**
   * Returns the JSON object of the reply, parsed with `schema`; fences and prose around it are allowed. A malformed
   * answer is repaired once by a second call `<callId>/repair` that quotes the mistakes. Otherwise returns a failure.
   */
  completeStructured<T>(spec: CampaignSpec, request: ModelRequest, schema: z.ZodType<T>): Promise<Structured<T>>;
  /** Returns unit vectors [texts][dimension]; null without an embedding model. Batches are stored calls `<callId>/<batch>`. */
  embed(spec: CampaignSpec, request: EmbeddingRequest): Promise<number[][] | null>;
};

export type ModelServiceDependencies = { store: Pick<Store, 'modelCalls' | 'providers'>; providers: Providers };

/** Creates the service for all campaigns of a worker. */
export function createModelService({ store, providers }: ModelServiceDependencies): ModelService {
  const clients = new Map([...providers].map(([name, provider]) => [name, providerClient(store, provider)]));
  return {
    complete: async (spec, request) => complete(targetOf(spec, request.purpose), spec, request),

    async completeStructured(spec, request, schema) {
      const target = targetOf(spec, request.purpose);
      const reply = await complete(target, spec, request);
      const first = readStructured(reply, schema);
      if (first.ok || first.failure !== 'malformed' || reply.kind !== 'text')
        return toStructured(first, request.callId);
      const repair: ModelRequest = {
        ...request,
        callId: `${request.callId}/repair`,
        prompt: `${request.prompt}+${promptId(repairPrompt)}`,
        messages: repairPrompt.render({ messages: request.messages, answer: reply.text, problems: first.problems }),
      };
      return toStructured(readStructured(await complete(target, spec, repair), schema), repair.callId);
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

  function targetOf(spec: CampaignSpec, purpose: keyof Models): Target {
    requireProviders(spec, providers);
    const model = spec.llm?.models[purpose];
    if (!model) throw new DomainError('NoModel', `llm.models.${purpose}: found nothing, expected a model`);
    const { timeoutSeconds } = providers.get(model.provider)!;
    return { client: clients.get(model.provider)!, timeoutSeconds };
  }
}

type Models = NonNullable<CampaignSpec['llm']>['models'];

type Target = { client: ProviderClient; timeoutSeconds: number };

async function complete({ client, timeoutSeconds }: Target, spec: CampaignSpec, request: ModelRequest): Promise<Reply> {
  const { key, callId, purpose, prompt, messages, seed, signal } = request;
  const { provider, price, seed: seedSetting, ...settings } = spec.llm!.models[purpose];
  const { model, maxTokens } = settings;
  const chat = { ...settings, messages, seed: seedSetting === null ? null : seed };
  const paid: PaidCall<Reply> = {
    call: { key, callId, purpose, provider, model, prompt, requestSha256: sha256(canonicalJson(chat)), timeoutSeconds },
    ...{ campaign: spec.name, price, signal },
    estimate: { promptTokens: estimatePrompt(messages), completionTokens: maxTokens },
    async send(api, requestId) {
      const { reply, usage } = await api.chat({ ...chat, requestId, signal });
      return { answer: reply, usage };
    },
  };
  return client(paid);
}

function toStructured<T>(read: ReturnType<typeof readStructured<T>>, callId: string): Structured<T> {
  if (read.ok) return { ...read, callId };
  return { ok: false, failure: read.failure, detail: read.problems.join('; '), callId };
}

/** Texts per request; common servers accept this number. */
const batchSize = 64;

async function embedBatch(
  { client, timeoutSeconds }: Target,
  spec: CampaignSpec,
  { key, callId, texts, signal }: EmbeddingRequest,
  from: number,
): Promise<number[][]> {
  const { provider, model, price } = spec.llm!.models.embedding!;
  const batch = texts.slice(from, from + batchSize).map((text) => text.trim() || ' '); // servers reject an empty text
  const paid: PaidCall<PackedVectors> = {
    call: {
      ...{ key, callId: `${callId}/${from / batchSize}`, purpose: 'embedding', provider, model, prompt: 'none' },
      ...{ requestSha256: sha256(canonicalJson({ model, input: batch })), timeoutSeconds },
    },
    ...{ campaign: spec.name, price, signal },
    estimate: { promptTokens: estimateText(batch.join('\n')), completionTokens: 0 },
    async send(api, requestId) {
      const { vectors, usage } = await api.embed({ model, texts: batch, requestId, signal });
      return { answer: packVectors(vectors), usage };
    },
  };
  return unitVectors(await client(paid));
}
