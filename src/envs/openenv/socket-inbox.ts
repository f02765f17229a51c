import { WebSocket } from 'ws';
import type { EnvironmentErrorKind } from '../base/environment-error';

/** What a server has said over a socket and nobody has read yet. */
export type Inbox = {
  send(message: object): void;
  /** The oldest message that is not read yet. */
  next(): string | undefined;
  /** Why the session can say no more; null while it can. */
  readonly ended: { kind: EnvironmentErrorKind; why: string; lost: boolean } | null;
  /** Called at once and whenever something has changed. */
  onNews(look: () => void): void;
  end(kind: EnvironmentErrorKind, why: string, lost?: boolean): void;
  stop(): void;
};

const pingMs = 20_000;
/** A server that answers no ping for so long is gone, or blocks its event loop: whoever waits would wait for ever. */
const silenceMs = 90_000;
/** Servers end silent sessions, ours after 300 s, and a language model may think for longer than that. */
const defaultBeatMs = 60_000;

/** WebSocket close codes (RFC 6455, registry of IANA): no word came, the server restarts, it has no room. */
const noWord = 1006;
const restarts = 1012;
const tryLater = 1013;

/**
 * Listens to a socket, pings it, and asks for its state when it has been silent for `beatMs`: a server answers in the
 * order of the questions, so the answer to that one is told from the others.
 */
export function listen(socket: WebSocket, beatMs = defaultBeatMs): Inbox {
  const messages: string[] = [];
  const awaited: ('observation' | 'state')[] = [];
  let ended: Inbox['ended'] = null;
  let look = (): void => undefined;
  let heardAt = performance.now();
  let sentAt = heardAt;

  const heard = (): void => void (heardAt = performance.now());
  const end: Inbox['end'] = (kind, why, lost = false) => {
    ended ??= { kind, why, lost };
    inbox.stop();
    socket.terminate();
    look();
  };
  const say = (message: object, answer: 'observation' | 'state'): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    awaited.push(answer);
    sentAt = performance.now();
    socket.send(JSON.stringify(message));
  };
  const pings = every(pingMs, () => {
    if (performance.now() - heardAt > silenceMs)
      end('fault', `the environment gave no sign of life for ${silenceMs / 1000} s`);
    else if (socket.readyState === WebSocket.OPEN) socket.ping();
  });
  const beats = every(beatMs / 2, () => {
    if (awaited.length === 0 && performance.now() - sentAt > beatMs / 2) say({ type: 'state' }, 'state');
  });

  socket.on('pong', heard);
  socket.on('message', (data: Buffer) => {
    heard();
    if (awaited.shift() === 'state') return;
    messages.push(data.toString('utf8'));
    look();
  });
  socket.on('close', (code) =>
    end(kindOfClose(code), `the environment closed the session (code ${code})`, code === noWord),
  );
  socket.on('error', (error) => end('fault', `the session broke: ${error.message}`, true));

  const inbox: Inbox = {
    send: (message) => say(message, 'observation'),
    next: () => messages.shift(),
    get ended() {
      return ended;
    },
    onNews(watch) {
      look = watch;
      look();
    },
    end,
    stop() {
      clearInterval(pings);
      clearInterval(beats);
    },
  };
  return inbox;
}

const every = (ms: number, work: () => void): NodeJS.Timeout => setInterval(work, ms).unref();

const kindOfClose = (code: number): EnvironmentErrorKind => {
  if (code === restarts) return 'unreachable';
  return code === tryLater ? 'capacity' : 'fault';
};
