import type { Tool } from '../domain/rollout/functions';
import type { ChatMessage, SampledAction } from '../domain/rollout/turn';
import OpenAI from 'openai';
import { z } from 'zod';
import { boundedFetch } from '../requests/bounded-fetch';
import { answerBounds, type JsonBounds } from '../input/json-bounds';
import { listOf } from '../input/list-of';
import { patientFetch } from '../requests/patient-fetch';
import { ModelError, policyServer, toModelError } from './model-error';
import { policyLeases, type PolicyEndpoint } from './policy-leases';
import { completion, logprobsOf, answerProblem, toAction, type Completion } from './policy-answer';
import type { VocabularyOf } from './policy-vocabulary';

/** `vocabularyOf` limits the token ids of answers; without it they are limited only by their column. */
type PolicyServer = PolicyEndpoint & { vocabularyOf?: VocabularyOf };

export type SampleRequest = {
  policyId: string;
  messages: ChatMessage[];
  /** Functions for the policy's own chat template. */
  tools?: Tool[];
  seed: number;
  temperature: number;
  maxTokens: number;
  signal: AbortSignal;
};

/**
 * Timeout of a request; a longer one is retried. A load may start a model first, and an action may wait in the queue behind
 * long prompts; its attempt usually ends earlier (`rollouts.maxMinutes`).
 */
const defaultTimeoutMs = 30 * 60_000;

/**
 * Client of a policy server with vLLM's dialect of the OpenAI protocol. It retries nothing: retries are Temporal's.
 * The model name is the policy's content hash, so an answer can only come from the requested weights.
 */
export const policyClient = ({ url, token, vocabularyOf }: PolicyServer, timeoutMs = defaultTimeoutMs) => {
  const { complete, post, served } = routesOf({ url, token }, timeoutMs);
  const findProblem = async (policyId: string, answer: Completion): Promise<string | undefined> =>
    answerProblem(answer, await vocabularyOf?.(policyId));

  /** Unloads the policy and frees its memory. Succeeds if it is not served. */
  const unload = (policyId: string): Promise<void> =>
    post('/unload_lora_adapter', { lora_name: policyId }).catch((error: unknown) => {
      if (!isUnknownModel(error)) throw error;
    });

  async function load(policyId: string, path: string): Promise<void> {
    await post('/load_lora_adapter', { lora_name: policyId, lora_path: path }).catch((error: unknown) => {
      if (!isLoadedAlready(error)) throw toPermanent(error);
    });
    try {
      const answer = await complete(probeOf(policyId));
      requireProbed(url, policyId, answer, await findProblem(policyId, answer));
    } catch (error) {
      if (isUnknownModel(error)) throw unloadedAgain(url, policyId, error);
      // Not after a retryable error: other clients may use the policy. An error of `unload` must not hide the probe's.
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
      const problem = await findProblem(request.policyId, answer);
      if (problem !== undefined) throw new ModelError('unavailable', `the policy server ${url} returned ${problem}`);
      return toAction(answer);
    },

    /**
     * Loads a policy under its hash and samples one token as a probe. Loading a loaded policy succeeds, and concurrent
     * calls share one load.
     *
     * @throws ModelError if the load fails, or if the probe returns another policy, no token ids or no
     * log-probabilities; then the policy is not served
     */
    load: oncePerPolicy(load),

    unload,

    /** Returns the names of the served policies. */
    served,

    ...policyLeases({ url, token }),
  };
};

const modelList = z.object({ data: listOf(z.object({ id: z.string() }), 10_000) });

/** vLLM writes 3 lists and objects, 4 keys and about 200 bytes for each sampled token. */
const boundsFor = (maxTokens: number): JsonBounds => ({
  maxBytes: answerBounds.maxBytes + 512 * maxTokens,
  maxNodes: answerBounds.maxNodes + 16 * maxTokens,
});

/** Routes of the server; they throw only ModelErrors. */
function routesOf({ url, token }: PolicyEndpoint, timeoutMs: number) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token ?? 'none', maxRetries: 0, timeout: timeoutMs });
  const bounded = (bounds: JsonBounds) => client.withOptions({ fetch: boundedFetch(bounds, undefined, patientFetch) });
  const completing = new Map<number, OpenAI>(); // by maxTokens, of which a campaign has few
  const clientFor = (maxTokens: number): OpenAI => {
    const made = completing.get(maxTokens) ?? bounded(boundsFor(maxTokens));
    completing.set(maxTokens, made);
    return made;
  };

  async function send<T>(request: (signal: AbortSignal) => PromiseLike<T>, signal?: AbortSignal): Promise<T> {
    const deadline = AbortSignal.timeout(timeoutMs); // the client's own timeout covers only the headers
    try {
      return await request(AbortSignal.any([...(signal ? [signal] : []), deadline]));
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw deadline.aborted ? slow(url, timeoutMs) : toModelError(error, policyServer(url));
    }
  }

  return {
    async complete(request: SampleRequest): Promise<Completion> {
      const { chat } = clientFor(request.maxTokens);
      const raw = await send((signal) => chat.completions.create(bodyOf(request), { signal }), request.signal);
      const parsed = completion.safeParse(raw);
      if (!parsed.success) throw notTheDialect(url, parsed.error);
      return parsed.data;
    },

    /** Sends a request to load or to unload. */
    async post(path: string, body: object): Promise<void> {
      await send((signal) => bounded(answerBounds).post(path, { body, signal }));
    },

    async served(): Promise<string[]> {
      const page = await send((signal) => bounded(answerBounds).models.list({ signal }));
      const parsed = modelList.safeParse(page);
      if (!parsed.success) throw notTheDialect(url, parsed.error);
      return parsed.data.data.map(({ id }) => id);
    },
  };
}

const slow = (url: string, timeoutMs: number): ModelError =>
  new ModelError(
    'unavailable',
    `the policy server at ${url} did not answer within ${timeoutMs / 1000} s: prompts are too long or too many for it; ` +
      'use a faster server, or raise COEVOLVE_POLICY_THREADS where nothing else uses the machine',
    { address: url },
  );

/** `tool_choice: none` keeps a call as text of the answer: vLLM needs no parser, and the action is what was sampled. */
const bodyOf = ({ policyId, messages, tools, temperature, seed, maxTokens }: SampleRequest) => ({
  model: policyId,
  messages: messages as OpenAI.ChatCompletionMessageParam[],
  temperature,
  seed,
  max_tokens: maxTokens,
  logprobs: true,
  ...(tools && { tools: tools as unknown[] as OpenAI.ChatCompletionFunctionTool[], tool_choice: 'none' as const }),
  return_token_ids: true, // vLLM's extension
});

const probeOf = (policyId: string): SampleRequest => ({
  policyId,
  messages: [{ role: 'user', content: '?' }],
  seed: 0,
  temperature: 0,
  maxTokens: 1,
  signal: new AbortController().signal,
});

/** Checks that the server answered as this policy, with the fields that training needs. */
function requireProbed(url: string, policyId: string, answer: Completion, problem: string | undefined): void {
  const { model, choices } = answer;
  if (model !== policyId) throw wrongPolicy(url, policyId, model ?? 'no model');
  const { token_ids: tokenIds } = choices[0];
  if (tokenIds.length === 1 && problem === undefined) return;
  const [ids, values] = [tokenIds, logprobsOf(answer)].map((list) => list.slice(0, 20).map(String).join(', '));
  const found = `token ids [${ids}] with log-probabilities [${values}]${problem ? `: ${problem}` : ''}`;
  const message = `the policy server ${url} serves policy ${policyId} without the fields that training needs: a request for one token returned ${found}`;
  throw new ModelError('rejected', message);
}

/** Concurrent calls for the same policy share one load. */
function oncePerPolicy(load: (policyId: string, path: string) => Promise<void>): typeof load {
  const pending = new Map<string, Promise<void>>();
  return (policyId, path) => {
    const running = pending.get(policyId);
    if (running) return running;
    const loading = load(policyId, path).finally(() => pending.delete(policyId));
    pending.set(policyId, loading);
    return loading;
  };
}

/** Error of vLLM without our front server. Names are content hashes, so it is the same adapter. */
const isLoadedAlready = (error: unknown): boolean =>
  error instanceof ModelError && error.message.includes('has already been loaded');

const isUnknownModel = (error: unknown): error is ModelError =>
  error instanceof ModelError && error.kind === 'unknown-model';

/** Makes a 404 of a load permanent: the route is missing, not the model. */
const toPermanent = (error: unknown): unknown =>
  isUnknownModel(error) ? new ModelError('rejected', error.message, { cause: error }) : error;

/** A server that serves few policies at a time may unload one for another client's before the probe. */
const unloadedAgain = (url: string, policyId: string, cause: ModelError): ModelError =>
  new ModelError('unavailable', `the policy server ${url} unloaded policy ${policyId} right after its load`, { cause });

const wrongPolicy = (url: string, expected: string, found: string): ModelError =>
  new ModelError('rejected', `the policy server ${url} answered as ${found}, expected policy ${expected}`);

/** Not retryable: a server with another dialect returns no token ids, and training needs them. */
const notTheDialect = (url: string, cause: z.ZodError): ModelError => {
  const fields = cause.issues.map(({ path }) => path.join('.') || 'the body').join(', ');
  const message = `the policy server ${url} did not answer in vLLM's dialect of the OpenAI protocol: missing or wrong: ${fields}; does another program answer there?`;
  return new ModelError('rejected', message, { cause });
};

export type PolicyClient = ReturnType<typeof policyClient>;
