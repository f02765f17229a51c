import OpenAI from 'openai';
import { z } from 'zod';
import type { ChatMessage } from '../domain/rollout/turn';
import { ModelError, toModelError, type ServiceDescription } from './model-error';
import type { Provider } from './providers';
import type { Reply } from './request';
import { estimatePrompt, estimateText } from './token-estimate';

/** `estimated`: the response contained no usage, so the tokens were estimated here. */
export type Usage = { promptTokens: number; completionTokens: number; estimated: boolean };

/** `requestId` is sent as x-client-request-id, which identifies the request in the provider's log. */
type Sent = { model: string; requestId: string; signal: AbortSignal };

export type ChatRequest = Sent & {
  messages: readonly ChatMessage[];
  temperature: number;
  seed: number;
  maxTokens: number;
};

export type EmbedRequest = Sent & { texts: readonly string[] };

/** Client of one provider with the OpenAI protocol. It retries nothing: retries are Temporal's. */
export const chatClient = (provider: Provider) => {
  const client = new OpenAI({
    ...{ baseURL: provider.url, apiKey: provider.key() ?? 'none', organization: null, project: null },
    ...{ maxRetries: 0, timeout: provider.timeoutSeconds * 1000, logLevel: 'off' },
  });

  return {
    /** @throws ModelError, or the signal's reason after an abort */
    async chat(request: ChatRequest): Promise<{ reply: Reply; usage: Usage }> {
      const body = {
        model: request.model,
        messages: request.messages as OpenAI.ChatCompletionMessageParam[],
        temperature: request.temperature,
        seed: request.seed,
        [provider.tokenLimitField]: request.maxTokens,
      };
      let raw: unknown;
      try {
        raw = await send(request, (options) => client.chat.completions.create(body, options));
      } catch (error) {
        const reply = error instanceof ModelError ? replyInError(error) : undefined;
        if (!reply) throw error;
        return { reply, usage: { promptTokens: 0, completionTokens: 0, estimated: false } };
      }
      const { choices, usage } = readBody(provider, request, chatBody, raw);
      const reply = replyOf(choices[0]!);
      const text = reply.kind === 'refused' ? reply.reason : reply.text;
      const counted = { promptTokens: estimatePrompt(request.messages), completionTokens: estimateText(text) };
      return { reply, usage: usageOf(usage) ?? { ...counted, estimated: true } };
    },

    /** Returns one vector per text, in the order of the texts. @throws ModelError, or the signal's reason after an abort */
    async embed(request: EmbedRequest): Promise<{ vectors: number[][]; usage: Usage }> {
      const body = { model: request.model, input: [...request.texts], encoding_format: 'float' as const };
      const raw = await send(request, (options) => client.embeddings.create(body, options));
      const { data, usage } = readBody(provider, request, embeddingsBody(request.texts.length), raw);
      const vectors = data.sort((a, b) => a.index - b.index).map(({ embedding }) => embedding);
      const counted = { promptTokens: estimateText(request.texts.join('\n')), completionTokens: 0, estimated: true };
      return { vectors, usage: usageOf(usage) ?? counted };
    },
  };

  async function send<T>(
    { model, requestId, signal }: Sent,
    create: (options: { signal: AbortSignal; headers: Record<string, string> }) => PromiseLike<T>,
  ): Promise<T> {
    const deadline = AbortSignal.timeout(provider.timeoutSeconds * 1000); // the client's own timeout covers only the headers
    try {
      const headers = { 'x-client-request-id': encodeURI(requestId) };
      return await create({ signal: AbortSignal.any([signal, deadline]), headers });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (!deadline.aborted) throw toModelError(error, serviceOf(provider, model));
      const limit = `within ${provider.timeoutSeconds} s (timeoutSeconds)`;
      throw new ModelError('unavailable', `${nameOf(provider, model)} did not answer ${limit}`);
    }
  }
};

const counts = z.object({ prompt_tokens: z.number(), completion_tokens: z.number().optional() });

const chatBody = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullish(), refusal: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    )
    .min(1),
  usage: counts.nullish(),
});

const embeddingsBody = (count: number) =>
  z.object({
    data: z
      .array(z.object({ index: z.number().int(), embedding: z.array(z.number()).min(1) }))
      .length(count)
      .refine((data) => new Set(data.map(({ embedding }) => embedding.length)).size <= 1),
    usage: counts.nullish(),
  });

/** Not retryable: a retry is charged again, and a server with another protocol returns the same. */
function readBody<T>(provider: Provider, { model }: Sent, schema: z.ZodType<T>, raw: unknown): T {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.join('.') || 'the body').join(', ');
  const problem = `did not answer in the OpenAI protocol: missing or wrong: ${fields}; check its url`;
  throw new ModelError('rejected', `${nameOf(provider, model)} ${problem}`);
}

/** Converts errors that a retry would repeat to replies: a content filter on the prompt, a full context. */
function replyInError({ kind, message }: ModelError): Reply | undefined {
  if (kind === 'refused') return { kind: 'refused', reason: message };
  return kind === 'context-full' ? { kind: 'cut-off', text: '' } : undefined;
}

function replyOf({ message, finish_reason: finish }: z.output<typeof chatBody>['choices'][number]): Reply {
  if (message.refusal) return { kind: 'refused', reason: message.refusal };
  if (finish === 'content_filter') return { kind: 'refused', reason: "the provider's content filter" };
  return { kind: finish === 'length' ? 'cut-off' : 'text', text: message.content ?? '' };
}

const usageOf = (usage: z.output<typeof counts> | null | undefined): Usage | undefined =>
  usage
    ? { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens ?? 0, estimated: false }
    : undefined;

const nameOf = ({ name, url }: Provider, model: string): string => `provider "${name}" (${url}, model "${model}")`;

function serviceOf(provider: Provider, model: string): ServiceDescription {
  const name = nameOf(provider, model);
  const key = provider.key();
  return {
    name,
    unavailable: `${name} does not answer; check its url and the network, then \`coevolve resume\` a parked campaign`,
    adviceOn: (status) => adviceOn(status, provider.name),
    keepCause: false, // it quotes the response, and servers quote keys in responses
    redact: (text) => (key ? text.replaceAll(key, '<key>') : text),
  };
}

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
