import OpenAI from 'openai';
import { z } from 'zod';
import { separateThinking } from '../domain/rollout/thinking';
import { boundedFetch } from '../requests/bounded-fetch';
import { outboundFetch } from '../requests/outbound-fetch';
import { answerBounds } from '../input/json-bounds';
import { listOf } from '../input/list-of';
import { storableText } from '../input/storable';
import { adviceOnParameter, chatBodyOf, type ChatSettings } from './chat-body';
import { ModelError, toModelError, type ServiceDescription } from './model-error';
import type { Provider } from './providers';
import type { Reply } from './request';
import { estimatePrompt, estimateText } from './token-estimate';

/** `estimated`: the usage in the response was missing or wrong, so tokens were estimated here. */
export type Usage = { promptTokens: number; completionTokens: number; estimated: boolean };

/**
 * `requestId` is sent as x-client-request-id, which identifies the request in the provider's log. `timeoutSeconds` is for one
 * whole answer.
 */
type Sent = { model: string; requestId: string; timeoutSeconds: number; signal: AbortSignal };

export type ChatRequest = Sent & ChatSettings;

export type EmbedRequest = Sent & { texts: readonly string[] };

/** Client of one provider with the OpenAI protocol. It retries nothing: retries are Temporal's. */
export const chatClient = (provider: Provider) => {
  const client = openAiClient(provider);
  const embeddings = client.withOptions({ fetch: boundedFetch(vectorBounds, undefined, outboundFetch) }).embeddings;

  return {
    /** @throws ModelError, or the signal's reason after an abort */
    async chat(request: ChatRequest): Promise<{ reply: Reply; usage: Usage }> {
      const body = chatBodyOf(request, provider);
      let raw: unknown;
      try {
        raw = await send(request, body, (options) => client.chat.completions.create(body, options));
      } catch (error) {
        const reply = error instanceof ModelError ? replyInError(error) : undefined;
        if (!reply) throw error;
        return { reply, usage: { promptTokens: 0, completionTokens: 0, estimated: false } };
      }
      const { choices: first, usage } = readBody(provider, request, chatBody, raw);
      const reply = replyOf(first);
      const text = reply.kind === 'refused' ? reply.reason : `${reply.thinking ?? ''}${reply.text}`;
      const counted = { promptTokens: estimatePrompt(request.messages), completionTokens: estimateText(text) };
      return { reply, usage: usageOf(usage, counted) };
    },

    /** Returns one vector per text, in the order of the texts. @throws ModelError, or the signal's reason after an abort */
    async embed(request: EmbedRequest): Promise<{ vectors: number[][]; usage: Usage }> {
      const body = { model: request.model, input: [...request.texts], encoding_format: 'float' as const };
      const raw = await send(request, body, (options) => embeddings.create(body, options));
      const { data, usage } = readBody(provider, request, embeddingsBody(request.texts.length), raw);
      const vectors = data.sort((a, b) => a.index - b.index).map(({ embedding }) => embedding);
      const prompt = countOf(usage, 'prompt_tokens');
      const promptTokens = prompt ?? estimateText(request.texts.join('\n'));
      return { vectors, usage: { promptTokens, completionTokens: 0, estimated: prompt === undefined } };
    },
  };

  async function send<T>(
    { model, requestId, timeoutSeconds, signal }: Sent,
    body: object,
    create: (options: { signal: AbortSignal; timeout: number; headers: Record<string, string> }) => PromiseLike<T>,
  ): Promise<T> {
    const deadline = AbortSignal.timeout(timeoutSeconds * 1000); // the client's own timeout covers only the headers
    try {
      const headers = { ...provider.headers(), 'x-client-request-id': encodeURI(requestId) };
      return await create({ signal: AbortSignal.any([signal, deadline]), timeout: timeoutSeconds * 1000, headers });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!deadline.aborted) throw toModelError(error, serviceOf(provider, model, body));
      const limit = `within ${timeoutSeconds} s (timeoutSeconds)`;
      throw new ModelError('unavailable', `${providerName(provider, model)} did not answer ${limit}`, {
        address: provider.url,
      });
    }
  }
};

const openAiClient = (provider: Provider) =>
  new OpenAI({
    baseURL: provider.url,
    apiKey: provider.key() ?? 'none',
    organization: null,
    project: null,
    maxRetries: 0,
    logLevel: 'off',
    fetch: boundedFetch(answerBounds, undefined, outboundFetch),
  });

/** A batch of 64 vectors with 16,000 numbers has 22 MB. */
const vectorBounds = { ...answerBounds, maxBytes: 32 * 2 ** 20 };

/** Fields of a paid answer that are not needed: a wrong value must not cost the answer. */
const optional = z.string().nullish().catch(null);

const choice = z.object({
  /** Servers separate the thinking under one of two names. */
  message: z.object({
    content: z.string().nullish(),
    refusal: optional,
    reasoning_content: optional,
    reasoning: optional,
  }),
  finish_reason: optional,
});

const chatBody = z.object({
  /** The first choice; one is requested. */
  choices: z
    .custom<unknown[]>((value) => Array.isArray(value) && value.length > 0)
    .transform(([first]) => first)
    .pipe(choice),
  usage: z.unknown().optional(),
});

/** A vector whose components can be stored as 32-bit floats. */
const vector = z.custom<number[]>(
  (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= 65_536 &&
    value.every((component) => typeof component === 'number' && Number.isFinite(Math.fround(component))),
);

const embeddingsBody = (count: number) =>
  z.object({
    data: listOf(
      z.object({
        index: z
          .int()
          .min(0)
          .max(count - 1),
        embedding: vector,
      }),
      count,
    )
      .refine((data) => new Set(data.map(({ index }) => index)).size === count)
      .refine((data) => new Set(data.map(({ embedding }) => embedding.length)).size <= 1),
    usage: z.unknown().optional(),
  });

/** Not retryable: a retry is charged again, and a server with another protocol returns the same. */
function readBody<T>(provider: Provider, { model }: Sent, schema: z.ZodType<T>, raw: unknown): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.join('.') || 'the body').join(', ');
  const problem = `did not answer in the OpenAI protocol: missing or wrong: ${fields}; check its url`;
  throw new ModelError('rejected', `${providerName(provider, model)} ${problem}`);
}

/** Converts errors that a retry would repeat to replies: a content filter on the prompt, a full context. */
function replyInError({ kind, message }: ModelError): Reply | undefined {
  if (kind === 'refused') return { kind: 'refused', reason: message };
  return kind === 'context-full' ? { kind: 'cut-off', at: 'context', text: '' } : undefined;
}

function replyOf({ message, finish_reason: finish }: z.output<typeof choice>): Reply {
  if (message.refusal) return { kind: 'refused', reason: storableText(message.refusal) };
  if (finish === 'content_filter') return { kind: 'refused', reason: "the provider's content filter" };
  const { thinking: inline, text } = separateThinking(storableText(message.content ?? ''));
  const separated = storableText(message.reasoning_content || message.reasoning || '');
  const thinking = [separated, inline].filter(Boolean).join('\n');
  const answer = { text, ...(thinking && { thinking }) };
  return finish === 'length' ? { kind: 'cut-off', at: 'limit', ...answer } : { kind: 'text', ...answer };
}

const tokenCount = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);

/** Returns a count of the response's usage; undefined if it is missing or wrong. */
const countOf = (usage: unknown, field: 'prompt_tokens' | 'completion_tokens'): number | undefined =>
  tokenCount.safeParse((usage as Record<string, unknown> | null | undefined)?.[field]).data;

/** Returns the usage of a response, with our count in place of each number that is missing or wrong. */
function usageOf(usage: unknown, counted: Omit<Usage, 'estimated'>): Usage {
  const [prompt, completion] = [countOf(usage, 'prompt_tokens'), countOf(usage, 'completion_tokens')];
  return {
    promptTokens: prompt ?? counted.promptTokens,
    completionTokens: completion ?? counted.completionTokens,
    estimated: prompt === undefined || completion === undefined,
  };
}

const providerName = ({ name, url }: Provider, model: string): string =>
  `provider "${name}" (${url}, model "${model}")`;

function serviceOf(provider: Provider, model: string, body: object): ServiceDescription {
  const name = providerName(provider, model);
  const key = provider.key();
  const secrets = [...(key ? [{ text: key, name: 'key' }] : []), ...secretHeaders(provider)];
  return {
    name,
    address: provider.url,
    unavailable: `${name} does not answer; check its url and the network, then \`coevolve resume\` a parked campaign`,
    adviceOn: (error) => adviceOn(error.status ?? 0, provider.name) ?? adviceOnParameter(error, body, provider.name),
    isCharged: true,
    keepCause: false, // it quotes the response, and servers quote keys in responses
    redact: (text) => secrets.reduce((left, secret) => left.replaceAll(secret.text, `<${secret.name}>`), text),
  };
}

/** Any header may hold a key; a shorter value is none, and removing it would garble messages. */
const secretHeaders = (provider: Provider): { text: string; name: string }[] =>
  Object.entries(provider.headers()).flatMap(([name, text]) => (text.length < 6 ? [] : [{ text, name }]));

function adviceOn(status: number, name: string): string | undefined {
  const resume = 'then `coevolve resume` the campaign';
  switch (status) {
    case 401:
    case 403:
      return `check the keyFile of "${name}" in the file of COEVOLVE_LLM_PROVIDERS, run \`coevolve up\` again, ${resume}`;
    case 402:
      return `add credit to the account, ${resume}`;
    case 404:
      return `make the provider serve this model under this name, ${resume}, or start a campaign with another model`;
    default:
      return undefined;
  }
}
