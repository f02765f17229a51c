import WebSocket from 'ws';
import { z } from 'zod';
import type { EnvironmentSession, Observation, OpenEnvironment } from './environment';
import { EnvironmentError, type EnvironmentErrorKind } from './environment-error';

export type EnvironmentEndpoint = { url: string; token?: string | undefined };

const stepTimeoutMs = 60_000;

const answer = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('observation'),
    data: z.object({
      observation: z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) }),
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
    const address = `${url.replace(/^http/, 'ws')}/envs/${name}/ws`;
    const socket = new WebSocket(address, {
      ...(token ? { headers: { authorization: `Bearer ${token}` } } : {}),
      maxPayload: 16 * 1024 * 1024,
      perMessageDeflate: false,
    });
    const abort = (): void => socket.terminate();
    signal.addEventListener('abort', abort, { once: true });
    await opened(socket, address);

    const ask = (message: object): Promise<Observation> => request(socket, message, signal);
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

/** Sends one message and waits for its answer. */
function request(socket: WebSocket, message: object, signal: AbortSignal): Promise<Observation> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      socket.off('message', onMessage).off('close', onClose).off('error', onError);
      finish();
    };
    const fail = (kind: EnvironmentErrorKind, text: string): void =>
      settle(() => reject(signal.aborted ? signal.reason : new EnvironmentError(kind, text)));
    const onMessage = (data: WebSocket.RawData): void => settle(() => resolveOrReject(String(data), resolve, reject));
    const onClose = (code: number): void => fail('fault', `the environment closed the session (code ${code})`);
    const onError = (error: Error): void => fail('fault', `the session broke: ${error.message}`);
    const timer = setTimeout(() => {
      fail('fault', `the environment gave no answer within ${stepTimeoutMs / 1000} s`);
      socket.terminate();
    }, stepTimeoutMs);

    socket.once('message', onMessage).once('close', onClose).once('error', onError);
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    else onClose(1006);
  });
}

function resolveOrReject(text: string, resolve: (o: Observation) => void, reject: (e: Error) => void): void {
  const parsed = answer.safeParse(parseJson(text));
  if (!parsed.success) return reject(new EnvironmentError('fault', `not an OpenEnv answer: ${text.slice(0, 200)}`));
  const { type, data } = parsed.data;
  if (type === 'error') return reject(new EnvironmentError(kindOfCode(data.code), `${data.code}: ${data.message}`));
  resolve({
    messages: data.observation.messages,
    done: data.done,
    reward: data.reward ?? 0,
    rawScore: data.metadata?.raw_score ?? null,
    stopReason: data.metadata?.stop_reason ?? null,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function kindOfCode(code: string): EnvironmentErrorKind {
  if (code === 'CAPACITY_REACHED') return 'capacity';
  return code === 'VALIDATION_ERROR' || code === 'INVALID_JSON' || code === 'UNKNOWN_TYPE' ? 'refused' : 'fault';
}
