import OpenAI from 'openai';
import { z } from 'zod';
import type { ChatMessage } from '../store/trajectories';
import { ModelError, policyServer, toModelError } from './model-error';

export type PolicyEndpoint = { url: string; token?: string | undefined };

/**
 * One sampled action with the ids that were sampled: training never re-tokenizes text. A provider's model gives text
 * alone, and `usage` says what it counted.
 */
export type SampledAction = {
  content: string;
  finishReason: string;
  promptTokenIds: number[] | null;
  tokenIds: number[] | null;
  logprobs: number[] | null;
  /** Tokens, where there are no ids to count. */
  usage?: { promptTokens: number; completionTokens: number };
};

export type SampleRequest = {
  policyId: string;
  messages: ChatMessage[];
  seed: number;
  temperature: number;
  maxTokens: number;
  signal: AbortSignal;
};

const completion = z.object({
  prompt_token_ids: z.array(z.number()),
  choices: z
    .array(
      z.object({
        message: z.object({ content: z.string().nullable() }),
        finish_reason: z.string(),
        token_ids: z.array(z.number()),
        logprobs: z.object({ content: z.array(z.object({ logprob: z.number() })) }).nullish(),
      }),
    )
    .length(1),
});

/**
 * A policy server behind vLLM's dialect of the OpenAI protocol. The client retries nothing: retries are Temporal's.
 * A policy is named by its content hash, so an answer can only come from the weights that were asked for.
 */
export const policyClient = ({ url, token }: PolicyEndpoint) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token ?? 'none', maxRetries: 0, timeout: 120_000 });

  return {
    /** @throws ModelError, or the signal's reason when it was aborted */
    async sample(request: SampleRequest): Promise<SampledAction> {
      const body = {
        model: request.policyId,
        messages: request.messages as OpenAI.ChatCompletionMessageParam[],
        temperature: request.temperature,
        seed: request.seed,
        max_tokens: request.maxTokens,
        logprobs: true,
        return_token_ids: true, // vLLM's extension
      };
      const raw = await client.chat.completions.create(body, { signal: request.signal }).catch((error: unknown) => {
        throw request.signal.aborted ? request.signal.reason : toModelError(error, policyServer(url));
      });
      const parsed = completion.safeParse(raw);
      if (!parsed.success) throw notTheDialect(url, parsed.error);
      const { prompt_token_ids: promptTokenIds, choices } = parsed.data;
      const { message, finish_reason: finishReason, token_ids: tokenIds, logprobs } = choices[0]!;
      return {
        content: message.content ?? '',
        finishReason,
        promptTokenIds,
        tokenIds,
        logprobs: logprobs?.content.map(({ logprob }) => logprob) ?? [],
      };
    },

    /** Makes the server serve a checkpoint under its hash. Loading it twice is success. */
    load: (policyId: string, path: string) => post('/load_lora_adapter', { lora_name: policyId, lora_path: path }),

    unload: (policyId: string) => post('/unload_lora_adapter', { lora_name: policyId }),

    async served(): Promise<string[]> {
      const page = await client.models.list().catch((error: unknown) => {
        throw toModelError(error, policyServer(url));
      });
      return page.data.map(({ id }) => id);
    },
  };

  async function post(path: string, body: object): Promise<void> {
    await client.post(path, { body }).catch((error: unknown) => {
      const mapped = toModelError(error, policyServer(url));
      // Here a 404 is the route's, not a model's: asking again cannot help.
      throw mapped.kind === 'unknown-model'
        ? new ModelError('never', mapped.message, undefined, { cause: error })
        : mapped;
    });
  }
};

/** Asking again cannot help: a server of another dialect gives no token ids, and without them nothing can be trained. */
const notTheDialect = (url: string, cause: z.ZodError): ModelError => {
  const fields = cause.issues.map(({ path }) => path.join('.') || 'the body').join(', ');
  const message = `${url} does not answer in vLLM's dialect of the OpenAI protocol: missing or wrong: ${fields}`;
  return new ModelError('never', message, undefined, { cause });
};

export type PolicyClient = ReturnType<typeof policyClient>;
