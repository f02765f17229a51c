import { WebSocket } from 'ws';
import { z } from 'zod';
import { remedyOf, type EnvironmentEndpoint } from '../server/endpoint';
import { EnvironmentError, type EnvironmentErrorKind } from '../contract/environment-error';
import { unavailableEnvironment, unavailableHeader } from '../contract/unavailable-environment';
import { answerBounds } from '../../input/json-bounds';
import { listOf } from '../../input/list-of';
import { LossyJson, parseForeignJson } from '../../input/foreign-json';
import { listen, type Inbox } from './socket-inbox';

/** Observation of OpenEnv's protocol (0.10). */
export type WireObservation = z.output<typeof observationSchema>;

export type WireSession = {
  /**
   * Sends a reset or a step and waits for the observation.
   *
   * @throws EnvironmentError; the signal's reason
   */
  request(message: object): Promise<WireObservation>;
  /**
   * Returns the state of the episode, whose fields each server chooses.
   *
   * @throws EnvironmentError; the signal's reason
   */
  state(): Promise<Record<string, unknown>>;
  close(): void;
};

export type SocketOptions = {
  signal: AbortSignal;
  /** Timeout of one answer; afterwards the session has failed. */
  responseTimeoutMs: number;
  /** Idle time after which a request for the state keeps the session open. */
  keepAliveMs?: number;
};

const openTimeoutMs = 20_000;

const observationSchema = z.object({
  observation: z.record(z.string(), z.unknown()),
  reward: z
    .union([z.number(), z.boolean()])
    .nullish()
    .transform((reward) => (typeof reward === 'boolean' ? Number(reward) : (reward ?? null))),
  done: z.boolean(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
});

const mistake = z.object({ loc: listOf(z.union([z.string(), z.number()]), 100), msg: z.string() });

const answerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('observation'), data: observationSchema }),
  z.object({ type: z.literal('state'), data: z.record(z.string(), z.unknown()) }),
  z.object({
    type: z.literal('error'),
    data: z.object({
      message: z.string(),
      code: z.string(),
      errors: listOf(mistake, 1_000).optional().catch(undefined),
    }),
  }),
]);

/**
 * Opens the WebSocket of one episode at `<url>/ws`. The server ends the session when the socket closes, so an aborted
 * attempt leaks no session.
 *
 * @throws EnvironmentError; the signal's reason
 */
export async function openSocket(
  endpoint: EnvironmentEndpoint,
  { signal, responseTimeoutMs, keepAliveMs }: SocketOptions,
): Promise<WireSession> {
  signal.throwIfAborted(); // an earlier abort triggers no event
  const { url, token } = endpoint;
  const address = `${url.replace(/^http/, 'ws')}/ws`;
  const socket = new WebSocket(address, {
    ...(token ? { headers: { authorization: `Bearer ${token}` } } : {}),
    maxPayload: answerBounds.maxBytes,
    perMessageDeflate: false,
    handshakeTimeout: openTimeoutMs,
  });
  const abort = (): void => socket.terminate();
  signal.addEventListener('abort', abort, { once: true });
  const inbox = listen(socket, keepAliveMs); // before it opens: a full server sends an error and closes immediately
  const close = (): void => {
    signal.removeEventListener('abort', abort);
    inbox.stop();
    socket.close();
  };
  await opened(socket, address, endpoint).catch((error: unknown) => {
    close();
    throw signal.aborted ? signal.reason : error;
  });
  const request = async <Type extends 'observation' | 'state'>(message: object, type: Type) => {
    inbox.send(message);
    return readAnswer(await answerTo(inbox, signal, responseTimeoutMs), type);
  };
  return {
    request: (message) => request(message, 'observation'),
    state: () => request({ type: 'state' }, 'state'),
    close,
  };
}

function opened(socket: WebSocket, address: string, endpoint: EnvironmentEndpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('unexpected-response', (_request, response) => {
      const unavailable = response.headers[unavailableHeader];
      const refusal = response.statusCode === 503 ? 'capacity' : 'rejected';
      if (typeof unavailable === 'string') reject(unavailableEnvironment(endpoint.url, unavailable));
      else reject(new EnvironmentError(refusal, `${address} answered ${response.statusCode} to the WebSocket request`));
      socket.terminate();
    });
    socket.once('error', (cause) => {
      const message = `no environment server answers at ${address} (${cause.message}); ${remedyOf(endpoint)}`;
      reject(new EnvironmentError('unreachable', message, { cause, address: address.replace(/^ws/, 'http') }));
    });
  });
}

/** Returns the next message of the server. Rejects at the end of the session and after the timeout. */
function answerTo(inbox: Inbox, signal: AbortSignal, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const expire = (): void => inbox.end('fault', `the environment did not answer within ${timeoutMs / 1000} s`);
    const timer = setTimeout(expire, timeoutMs);
    inbox.onChange(() => {
      const text = inbox.next();
      if (text === undefined && inbox.ended === null) return;
      clearTimeout(timer);
      inbox.onChange(() => undefined);
      if (text !== undefined) resolve(text);
      else reject(signal.aborted ? signal.reason : errorOf(inbox.ended!));
    });
  });
}

const errorOf = ({ kind, why, lost }: NonNullable<Inbox['ended']>): EnvironmentError =>
  new EnvironmentError(kind, why, { lost });

type Answer = z.output<typeof answerSchema>;
type DataOf<Type extends Answer['type']> = Extract<Answer, { type: Type }>['data'];

function readAnswer<Type extends 'observation' | 'state'>(text: string, expected: Type): DataOf<Type> {
  const parsed = answerSchema.safeParse(parseAnswer(text));
  if (!parsed.success || (parsed.data.type !== expected && parsed.data.type !== 'error'))
    throw new EnvironmentError('fault', `not an OpenEnv answer: ${text.slice(0, 200)}`);
  if (parsed.data.type !== 'error') return parsed.data.data as DataOf<Type>;
  const { code, message, errors = [] } = parsed.data.data;
  const details = errors.slice(0, 3).map(({ loc, msg }) => `; ${loc.join('.')}: ${msg}`);
  throw new EnvironmentError(kindOfCode(code), `${code}: ${message}${details.join('')}`);
}

function parseAnswer(text: string): unknown {
  try {
    return parseForeignJson(text);
  } catch (error) {
    if (!(error instanceof LossyJson)) throw error;
    throw new EnvironmentError('fault', `the environment's answer: ${error.message}`);
  }
}

function kindOfCode(code: string): EnvironmentErrorKind {
  if (code === 'CAPACITY_REACHED') return 'capacity';
  return code === 'VALIDATION_ERROR' || code === 'INVALID_JSON' || code === 'UNKNOWN_TYPE' ? 'rejected' : 'fault';
}
