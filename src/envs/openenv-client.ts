import { WebSocket } from 'ws';
import { z } from 'zod';
import type { EnvironmentSession, Observation, OpenEnvironment } from './environment';
import { EnvironmentError, type EnvironmentErrorKind } from './environment-error';
import { parseJson } from './parse-json';

export type EnvironmentEndpoint = { url: string; token?: string | undefined };

const stepTimeoutMs = 60_000;
const openTimeoutMs = 20_000;

const answer = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('observation'),
    data: z.object({
      observation: z.object({
        messages: z.array(z.object({ role: z.string(), content: z.string() })),
        tools: z.array(z.record(z.string(), z.unknown())).nullish(),
        info: z.object({ score: z.number().nullish() }).nullish(),
      }),
      reward: z.number().nullish(),
      done: z.boolean(),
      metadata: z.object({ raw_score: z.number().nullish(), stop_reason: z.string().nullish() }).nullish(),
    }),
  }),
  z.object({ type: z.literal('error'), data: z.object({ message: z.string(), code: z.string() }) }),
]);

/**
 * Opens episodes on a server that speaks OpenEnv's wire (0.10): one WebSocket is one episode, and the server drops the
 * session when the socket closes, so an aborted attempt leaves nothing behind.
 */
export const openEnvClient =
  ({ url, token }: EnvironmentEndpoint): OpenEnvironment =>
  async (name, { signal }) => {
    signal.throwIfAborted(); // an abort that is over is not told again
    const address = `${url.replace(/^http/, 'ws')}/envs/${name}/ws`;
    const socket = new WebSocket(address, {
      ...(token ? { headers: { authorization: `Bearer ${token}` } } : {}),
      maxPayload: 16 * 1024 * 1024,
      perMessageDeflate: false,
      handshakeTimeout: openTimeoutMs,
    });
    const abort = (): void => socket.terminate();
    signal.addEventListener('abort', abort, { once: true });
    const inbox = listen(socket); // before it opens: a full server says so at once and closes
    await opened(socket, address);

    const ask = (message: object): Promise<Observation> => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
      return answerTo(socket, inbox, signal);
    };
    return {
      reset: ({ task, seed, episodeId }) => ask({ type: 'reset', data: { task, seed, episode_id: episodeId } }),
      step: (action) => ask({ type: 'step', data: { content: action } }),
      close() {
        signal.removeEventListener('abort', abort);
        socket.close();
      },
    } satisfies EnvironmentSession;
  };

function opened(socket: WebSocket, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('unexpected-response', (_request, response) => {
      const refusal = response.statusCode === 503 ? 'capacity' : 'refused';
      reject(new EnvironmentError(refusal, `${address} answered ${response.statusCode} to the WebSocket request`));
      socket.terminate();
    });
    socket.once('error', (cause) => {
      const message = `no environment server answers at ${address} (${cause.message}); start one with \`coevolve up\``;
      reject(new EnvironmentError('unreachable', message, { cause }));
    });
  });
}

/** What the server has said and nobody has read yet; `ended` once it can say no more. */
type Inbox = { messages: string[]; ended: string | null; wake: () => void };

function listen(socket: WebSocket): Inbox {
  const inbox: Inbox = { messages: [], ended: null, wake: () => undefined };
  const end = (why: string): void => {
    inbox.ended ??= why;
    inbox.wake();
  };
  socket.on('message', (data: Buffer) => {
    inbox.messages.push(data.toString('utf8'));
    inbox.wake();
  });
  socket.on('close', (code) => end(`the environment closed the session (code ${code})`));
  socket.on('error', (error) => end(`the session broke: ${error.message}`));
  return inbox;
}

/** The next message of the server, whatever came first: an answer, the end of the session, or nothing in time. */
function answerTo(socket: WebSocket, inbox: Inbox, signal: AbortSignal): Promise<Observation> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      inbox.ended ??= `the environment gave no answer within ${stepTimeoutMs / 1000} s`;
      socket.terminate();
      inbox.wake();
    }, stepTimeoutMs);
    inbox.wake = () => {
      const text = inbox.messages.shift();
      if (text === undefined && inbox.ended === null) return;
      clearTimeout(timer);
      inbox.wake = () => undefined;
      if (text !== undefined) resolveOrReject(text, resolve, reject);
      else reject(signal.aborted ? signal.reason : new EnvironmentError('fault', inbox.ended!));
    };
    inbox.wake();
  });
}

function resolveOrReject(text: string, resolve: (o: Observation) => void, reject: (e: Error) => void): void {
  const parsed = answer.safeParse(parseJson(text));
  if (!parsed.success) return reject(new EnvironmentError('fault', `not an OpenEnv answer: ${text.slice(0, 200)}`));
  const { type, data } = parsed.data;
  if (type === 'error') return reject(new EnvironmentError(kindOfCode(data.code), `${data.code}: ${data.message}`));
  resolve({
    messages: data.observation.messages,
    ...(data.observation.tools ? { tools: data.observation.tools } : {}),
    done: data.done,
    reward: data.reward ?? 0,
    score: data.observation.info?.score ?? null,
    rawScore: data.metadata?.raw_score ?? null,
    stopReason: data.metadata?.stop_reason ?? null,
  });
}

function kindOfCode(code: string): EnvironmentErrorKind {
  if (code === 'CAPACITY_REACHED') return 'capacity';
  return code === 'VALIDATION_ERROR' || code === 'INVALID_JSON' || code === 'UNKNOWN_TYPE' ? 'refused' : 'fault';
}
