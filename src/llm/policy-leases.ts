import { z } from 'zod';
import { messageOf } from '../errors/errors';
import { answerBounds } from '../input/json-bounds';
import { boundedFetch } from '../requests/bounded-fetch';
import { patientFetch } from '../requests/patient-fetch';
import { ModelError, policyServer } from './model-error';

export type PolicyEndpoint = { url: string; token?: string | undefined };

export type LeaseRequest = {
  policyId: string;
  /** Folder of the policy. */
  path: string;
  signal: AbortSignal;
  /** Called with the reason every few seconds while the lease has to wait. */
  onWait: (reason: string) => void;
};

/** Limit for a server that is not ours; a line of ours has some hundred characters. */
const maxLineLength = 2 ** 16;
/** Type of an answer that is a lease. Other servers answer any route, or none, in other types. */
const leaseType = 'application/jsonl';
const maxSilenceMs = 20_000;
/** The server ends processes of vLLM first, which takes some seconds each. */
const releaseTimeoutMs = 120_000;

const leaseLine = z.object({ state: z.enum(['waiting', 'granted', 'failed']), reason: z.string().default('') });
const vllmHealth = z.object({ vllm: z.array(z.unknown()) });

/**
 * Leases of policies on our front server of vLLM, which serves few base models at a time and shares devices with training
 * jobs. Other servers have no such routes: nothing waits there.
 */
export const policyLeases = ({ url, token }: PolicyEndpoint) => {
  const post: Post = (route, body, { signal, send = patientFetch } = {}) => {
    const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
    return send(`${url}${route}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal: signal ?? null,
    });
  };

  return {
    /**
     * Runs `play` while the server keeps the policy's base model. The open connection is the lease, so it ends with this
     * process. A lease that a crash of the server ends is not taken again: the next action loads the policy.
     *
     * @throws ModelError `unavailable` when the lease fails; errors of `play`; the signal's reason
     */
    async duringLease<T>(request: LeaseRequest, play: () => Promise<T>): Promise<T> {
      const lease = new AbortController();
      try {
        await take(post, url, request, lease);
        return await play();
      } finally {
        lease.abort();
      }
    },

    /** Frees devices of the server for a training job; returns the reason if attempts use them. A stopped server has none. */
    async release(devices: readonly number[]): Promise<string | null> {
      const response = await post('/v1/devices/release', { devices }, { send: fetchRelease }).catch(failureOf);
      if (typeof response === 'string') return `the policy server ${url}: ${response}`;
      if (!response || response.ok || response.status === 404) return null;
      const { error } = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
      return error?.message ?? `the policy server ${url}, which returned status ${response.status}`;
    },

    /** Returns the count of base models that the server holds at once; null for other servers. */
    async models(): Promise<number | null> {
      const response = await fetchHealth(`${url}/health`).catch(() => null);
      const parsed = vllmHealth.safeParse(await response?.json().catch(() => null));
      return parsed.success ? parsed.data.vllm.length : null;
    },
  };
};

type Post = (route: string, body: object, options?: { signal?: AbortSignal; send?: typeof fetch }) => Promise<Response>;

const fetchHealth = boundedFetch(answerBounds, 5_000, patientFetch);
const fetchRelease = boundedFetch(answerBounds, releaseTimeoutMs, patientFetch);

/** Returns the reason of a server that runs and does not respond; null for a stopped one. */
const failureOf = (error: unknown): string | null =>
  error instanceof Error && error.name === 'TimeoutError' ? messageOf(error) : null;

/** Waits for a lease; not on a server without leases, nor longer than a silence of the server. */
async function take(post: Post, url: string, request: LeaseRequest, lease: AbortController): Promise<void> {
  const { policyId, path, signal, onWait } = request;
  const silence = silenceOf(lease);
  const either = AbortSignal.any([signal, lease.signal]);
  try {
    const response = await post('/v1/turns', { lora_name: policyId, lora_path: path }, { signal: either }).catch(
      (cause: unknown) => {
        throw new ModelError('unavailable', policyServer(url).unavailable, { cause, address: url });
      },
    );
    if (response.headers.get('content-type')?.startsWith(leaseType)) await granted(response, { onWait, silence });
    else await response.body?.cancel(); // the first action reports the errors of such a server
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (lease.signal.aborted) return; // it accepts connections and says nothing: the limits of the attempts end them
    if (error instanceof ModelError) throw error;
    throw new ModelError('unavailable', `the policy server ${url}: /v1/turns: ${messageOf(error)}`, { cause: error });
  } finally {
    silence.end();
  }
}

type Wait = Pick<LeaseRequest, 'onWait'> & { silence: ReturnType<typeof silenceOf> };

/** Aborts a lease when its server has sent nothing for several of its heartbeats. */
function silenceOf(lease: AbortController): { restart(): void; end(): void } {
  const timer = setTimeout(() => lease.abort(), maxSilenceMs);
  return { restart: () => void timer.refresh(), end: () => clearTimeout(timer) };
}

/** Reads the lines of a lease until it is granted, and later ones in the background: the connection must stay open. */
async function granted({ body }: Response, { onWait, silence }: Wait): Promise<void> {
  const lines = linesOf(body!);
  for (let state = 'waiting'; state !== 'granted';) {
    const { value, done } = await lines.next();
    silence.restart();
    const line = leaseLine.parse(done ? { state: 'failed', reason: 'the connection was closed' } : JSON.parse(value));
    if (line.state === 'failed') throw new ModelError('unavailable', `no lease on the policy server: ${line.reason}`);
    if (line.state === 'waiting') onWait(line.reason);
    ({ state } = line);
  }
  void (async () => {
    while (!(await lines.next()).done);
  })().catch(() => undefined);
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    if (rest.length > maxLineLength) throw new Error(`a line has more than ${maxLineLength} characters`);
    yield* lines;
  }
  return undefined;
}
