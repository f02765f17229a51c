import { WebSocket } from 'ws';
import { answerBounds, jsonBounds } from '../../input/json-bounds';
import { messageOf } from '../../errors/errors';
import type { EnvironmentErrorKind } from '../contract/environment-error';

/** Queue of the received messages of a socket. */
export type Inbox = {
  send(message: object): void;
  /** Removes and returns the oldest unread message. */
  next(): string | undefined;
  /** Reason of the session's end; null while it is open. */
  readonly ended: { kind: EnvironmentErrorKind; why: string; lost: boolean } | null;
  /** Calls `listener` immediately and after every change. */
  onChange(listener: () => void): void;
  end(kind: EnvironmentErrorKind, why: string, lost?: boolean): void;
  stop(): void;
};

const pingMs = 20_000;
/** Timeout of pings: the server crashed or blocks its event loop. */
const silenceMs = 90_000;
/** Servers end idle sessions, ours after 300 s, and a language model may need more time for an action. */
const defaultKeepAliveMs = 60_000;

/** WebSocket close codes (RFC 6455, registry of IANA). */
const abnormalClosure = 1006;
const serviceRestart = 1012;
const tryLater = 1013;

/**
 * Receives the messages of a socket, sends pings, and requests the state of a session that was idle for `keepAliveMs`.
 * A server answers in the order of the requests, so the answers to these requests can be dropped.
 */
export function listen(socket: WebSocket, keepAliveMs = defaultKeepAliveMs): Inbox {
  const messages: string[] = [];
  const awaited: ('observation' | 'state')[] = [];
  let ended: Inbox['ended'] = null;
  let notify = (): void => undefined;
  let receivedAt = performance.now();
  let sentAt = receivedAt;

  const received = (): void => void (receivedAt = performance.now());
  const end: Inbox['end'] = (kind, why, lost = false) => {
    ended ??= { kind, why, lost };
    inbox.stop();
    socket.terminate();
    notify();
  };
  const send = (message: object, answer: 'observation' | 'state'): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    awaited.push(answer);
    sentAt = performance.now();
    socket.send(JSON.stringify(message));
  };
  const pings = every(pingMs, () => {
    if (performance.now() - receivedAt > silenceMs)
      end('fault', `the environment sent nothing for ${silenceMs / 1000} s`);
    else if (socket.readyState === WebSocket.OPEN) socket.ping();
  });
  const keepAlive = every(keepAliveMs / 2, () => {
    if (awaited.length === 0 && performance.now() - sentAt > keepAliveMs / 2) send({ type: 'state' }, 'state');
  });

  socket.on('pong', received);
  socket.on('message', (data: Buffer) => {
    received();
    if (awaited.shift() === 'state') return;
    const problem = messages.length < maxUnread ? boundsProblem(data) : 'the environment sends without a request';
    if (problem !== undefined) return end('fault', problem);
    messages.push(data.toString('utf8'));
    notify();
  });
  endWithConnection(socket, end);

  const inbox: Inbox = {
    send: (message) => send(message, 'observation'),
    next: () => messages.shift(),
    get ended() {
      return ended;
    },
    onChange(listener) {
      notify = listener;
      notify();
    },
    end,
    stop: () => [pings, keepAlive].forEach((timer) => clearInterval(timer)),
  };
  return inbox;
}

function endWithConnection(socket: WebSocket, end: Inbox['end']): void {
  socket.on('close', (code) =>
    end(kindOfClose(code), `the environment closed the session (code ${code})`, code === abnormalClosure),
  );
  socket.on('error', (error) => end('fault', `the session broke: ${error.message}`, !isViolation(error)));
}

/** Answers that no caller has read; a full server sends one error before the first request. */
const maxUnread = 4;

/** Returns whether the server broke the protocol, with a message above the limit or invalid UTF-8. */
const isViolation = (error: NodeJS.ErrnoException): boolean => error.code?.startsWith('WS_ERR') ?? false;

function boundsProblem(data: Buffer): string | undefined {
  try {
    jsonBounds(answerBounds)(data);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

const every = (ms: number, work: () => void): NodeJS.Timeout => setInterval(work, ms).unref();

const kindOfClose = (code: number): EnvironmentErrorKind => {
  if (code === serviceRestart) return 'unreachable';
  return code === tryLater ? 'capacity' : 'fault';
};
