import { createHash } from 'node:crypto';
import type { z } from 'zod';
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
  ask(spec: CampaignSpec, question: ModelRequest): Promise<Reply>;
  /**
   * Returns the JSON object of the reply, parsed with `schema`; fences and prose around it are allowed. A malformed
   * answer is repaired once by a second call `<callId>/repair` that quotes the mistakes. Otherwise returns a failure.
   */
  askFor<T>(spec: CampaignSpec, question: ModelRequest, schema: z.ZodType<T>): Promise<Structured<T>>;
  /** Returns unit vectors [texts][dimension]; null without an embedding model. Batches are stored calls `<callId>/<batch>`. */
  embed(spec: CampaignSpec, request: EmbeddingRequest): Promise<number[][] | null>;
};

export type ModelServices = { store: Pick<Store, 'modelCalls' | 'providers'>; providers: Providers };

/** Creates the service for all campaigns of a worker. */
export function createModelService({ store, providers }: ModelServices): ModelService {
  const clients = new Map([...providers].map(([name, provider]) => [name, providerClient(store, provider)]));
  return {
    ask: async (spec, question) => ask(targetOf(spec, question.purpose), spec, question),

    async askFor(spec, question, schema) {
      const target = targetOf(spec, question.purpose);
      const reply = await ask(target, spec, question);
      const first = readStructured(reply, schema);
      if (first.ok || first.failure !== 'malformed' || reply.kind !== 'text')
        return toStructured(first, question.callId);
      const repair: ModelRequest = {
        ...question,
        callId: `${question.callId}/repair`,
        prompt: `${question.prompt}+${promptId(repairPrompt)}`,
        messages: repairPrompt.render({ messages: question.messages, answer: reply.text, problems: first.problems }),
      };
      return toStructured(readStructured(await ask(target, spec, repair), schema), repair.callId);
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

async function ask({ client, timeoutSeconds }: Target, spec: CampaignSpec, question: ModelRequest): Promise<Reply> {
  const { key, callId, purpose, prompt, messages, seed, signal } = question;
  const { provider, model, price, temperature, maxTokens } = spec.llm!.models[purpose];
  const request = { model, messages, temperature, seed, maxTokens };
  const paid: PaidCall<Reply> = {
    call: { key, callId, purpose, provider, model, prompt, requestSha256: sha256(request), timeoutSeconds },
    ...{ campaign: spec.name, price, signal },
    estimate: { promptTokens: estimatePrompt(messages), completionTokens: maxTokens },
    async send(chat, requestId) {
      const { reply, usage } = await chat.chat({ ...request, requestId, signal });
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
      ...{ requestSha256: sha256({ model, input: batch }), timeoutSeconds },
    },
    ...{ campaign: spec.name, price, signal },
    estimate: { promptTokens: estimateText(batch.join('\n')), completionTokens: 0 },
    async send(chat, requestId) {
      const { vectors, usage } = await chat.embed({ model, texts: batch, requestId, signal });
      return { answer: packVectors(vectors), usage };
    },
  };
  return unitVectors(await client(paid));
}

const sha256 = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
