import type { ChatMessage, SampledAction } from '../domain/rollout/turn';
import OpenAI from 'openai';
import { z } from 'zod';
import { ModelError, policyServer, toModelError } from './model-error';

export type PolicyEndpoint = { url: string; token?: string | undefined };

export type SampleRequest = {
  policyId: string;
  messages: ChatMessage[];
  seed: number;
  temperature: number;
  maxTokens: number;
  signal: AbortSignal;
};

const completion = z.object({
  model: z.string().optional(),
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

type Completion = z.infer<typeof completion>;

/** For a server that starts a model first; Node's own limit is 5 minutes. One that needs longer is asked again. */
const loadTimeoutMs = 290_000;

/**
 * A policy server behind vLLM's dialect of the OpenAI protocol. The client retries nothing: retries are Temporal's.
 * A policy is named by its content hash, so an answer can only come from the weights that were asked for.
 */
export const policyClient = ({ url, token }: PolicyEndpoint) => {
  const { complete, post, served } = routesOf({ url, token });

  /** Frees what the policy holds; one that is not served is no error. */
  const unload = (policyId: string): Promise<void> =>
    post('/unload_lora_adapter', { lora_name: policyId }).catch((error: unknown) => {
      if (!(error instanceof ModelError) || error.kind !== 'unknown-model') throw error;
    });

  async function load(policyId: string, path: string): Promise<void> {
    await post('/load_lora_adapter', { lora_name: policyId, lora_path: path }).catch((error: unknown) => {
      if (!isLoadedAlready(error)) throw never(error);
    });
    try {
      requireProbed(url, policyId, await complete(probeOf(policyId)));
    } catch (error) {
      // Not after an error that may pass: others may be asking the policy. What the probe found is what must be told.
      if (error instanceof ModelError && error.kind === 'rejected') await unload(policyId).catch(() => {});
      throw error;
    }
  }

  return {
    /** @throws ModelError, or the signal's reason when it was aborted */
    async sample(request: SampleRequest): Promise<SampledAction> {
      const answer = await complete(request);
      if (answer.model !== undefined && answer.model !== request.policyId)
        throw wrongPolicy(url, request.policyId, answer.model);
      return toAction(answer);
    },

    /**
     * Makes the server serve a policy under its hash, and asks it for one token before anybody else does. Loading it
     * twice is success, and those who ask at the same time wait for one load.
     *
     * @throws ModelError when it cannot be loaded, or answers as another policy or without token ids or
     * log-probabilities; it is not served then
     */
    load: oncePerPolicy(load),

    unload,

    /** Names of the policies that are served. */
    served,
  };
};

/** The server's routes; every error of theirs is a ModelError. */
function routesOf({ url, token }: PolicyEndpoint) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token ?? 'none', maxRetries: 0, timeout: 120_000 });

  return {
    async complete(request: SampleRequest): Promise<Completion> {
      const { signal } = request;
      const raw = await client.chat.completions.create(bodyOf(request), { signal }).catch((error: unknown) => {
        throw signal.aborted ? signal.reason : toModelError(error, policyServer(url));
      });
      const parsed = completion.safeParse(raw);
      if (!parsed.success) throw notTheDialect(url, parsed.error);
      return parsed.data;
    },

    /** Loads and unloads. */
    async post(path: string, body: object): Promise<void> {
      await client.post(path, { body, timeout: loadTimeoutMs }).catch((error: unknown) => {
        throw toModelError(error, policyServer(url));
      });
    },

    async served(): Promise<string[]> {
      const page = await client.models.list().catch((error: unknown) => {
        throw toModelError(error, policyServer(url));
      });
      return page.data.map(({ id }) => id);
    },
  };
}

const bodyOf = ({ policyId, messages, temperature, seed, maxTokens }: SampleRequest) => ({
  ...{ model: policyId, messages: messages as OpenAI.ChatCompletionMessageParam[], temperature, seed },
  ...{ max_tokens: maxTokens, logprobs: true },
  return_token_ids: true, // vLLM's extension
});

function toAction({ prompt_token_ids: promptTokenIds, choices }: Completion): SampledAction {
  const { message, finish_reason: finishReason, token_ids: tokenIds, logprobs } = choices[0]!;
  return {
    content: message.content ?? '',
    finishReason,
    promptTokenIds,
    tokenIds,
    logprobs: logprobs?.content.map(({ logprob }) => logprob) ?? [],
  };
}

const probeOf = (policyId: string): SampleRequest => ({
  ...{ policyId, messages: [{ role: 'user', content: '?' }], seed: 0, temperature: 0, maxTokens: 1 },
  signal: new AbortController().signal,
});

/** Whether the server answered as this policy, with what training needs. */
function requireProbed(url: string, policyId: string, { model, choices }: Completion): void {
  if (model !== policyId) throw wrongPolicy(url, policyId, model ?? 'nobody');
  const { token_ids: tokenIds, logprobs } = choices[0]!;
  const values = logprobs?.content.map(({ logprob }) => logprob) ?? [];
  if (tokenIds.length === 1 && values.length === 1 && values[0]! <= 0) return;
  const found = `token ids [${tokenIds.join(', ')}] with log-probabilities [${values.join(', ')}]`;
  const problem = `${url} serves policy ${policyId} without what training needs: asked for one token, it gave ${found}`;
  throw new ModelError('rejected', problem);
}

/** Those who ask for the same policy at the same time wait for one load. */
function oncePerPolicy(load: (policyId: string, path: string) => Promise<void>): typeof load {
  const begun = new Map<string, Promise<void>>();
  return (policyId, path) => {
    const waiting = begun.get(policyId);
    if (waiting) return waiting;
    const loading = load(policyId, path).finally(() => begun.delete(policyId));
    begun.set(policyId, loading);
    return loading;
  };
}

/** In vLLM without our front. Names are hashes of content, so it is the same adapter. */
const isLoadedAlready = (error: unknown): boolean =>
  error instanceof ModelError && error.message.includes('has already been loaded');

/** Of a load a 404 is the route's, not a model's: asking again cannot help. */
const never = (error: unknown): unknown =>
  error instanceof ModelError && error.kind === 'unknown-model'
    ? new ModelError('rejected', error.message, { cause: error })
    : error;

const wrongPolicy = (url: string, asked: string, answered: string): ModelError =>
  new ModelError('rejected', `${url} answered as ${answered} when policy ${asked} was asked`);

/** Asking again cannot help: a server of another dialect gives no token ids, and without them nothing can be trained. */
const notTheDialect = (url: string, cause: z.ZodError): ModelError => {
  const fields = cause.issues.map(({ path }) => path.join('.') || 'the body').join(', ');
  const message = `${url} does not answer in vLLM's dialect of the OpenAI protocol: missing or wrong: ${fields}`;
  return new ModelError('rejected', message, { cause });
};

export type PolicyClient = ReturnType<typeof policyClient>;
