import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A server on loopback before the policy server, through which everybody asks it. */
export type ModelGate = {
  readonly port: number;
  /** How many answers policies generated, or began to; a probe, which asks for one token, is none. */
  generated(): number;
  close(): Promise<void>;
};

/**
 * Counts what policies generate, and makes them look large: what they generate is kept back for so long. Every
 * other answer passes at once, as it would with a large one.
 *
 * @param target port of the policy server, on loopback; it may be down, and come back
 */
export async function openModelGate(target: number, latencyMs: number): Promise<ModelGate> {
  let count = 0;
  const handle = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const body = await text(asked);
    const generates = asked.url?.endsWith('/chat/completions') ?? false;
    const upstream = passOn({ target, asked, body, answer, keptMs: generates ? latencyMs : 0 });
    if (!generates || isProbe(body)) return;
    upstream.on('finish', () => count++);
    upstream.on('response', ({ statusCode }) => (count -= statusCode === 200 ? 0 : 1)); // refused: nothing was generated
  };
  const server = createServer((asked, answer) => {
    handle(asked, answer).catch(() => answer.destroy()); // its client died while it asked
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    generated: () => count,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const isProbe = (body: string): boolean => (JSON.parse(body) as { max_tokens?: number }).max_tokens === 1;

type Passed = { target: number; asked: IncomingMessage; body: string; answer: ServerResponse; keptMs: number };

/** A server that is not there, or goes away, ends the client's connection as it would without anybody between them. */
function passOn({ target, asked, body, answer, keptMs }: Passed) {
  const { method, url } = asked;
  const headers = { ...asked.headers, connection: 'close' }; // one request, one connection: none is left behind
  const upstream = request({ host: '127.0.0.1', port: target, method, path: url, headers });
  upstream.on('error', () => answer.destroy());
  upstream.on('response', (came) => {
    came.on('error', () => answer.destroy());
    const pass = (): unknown => came.pipe(answer.writeHead(came.statusCode!, came.headers));
    const kept = setTimeout(pass, came.statusCode === 200 ? keptMs : 0);
    answer.on('close', () => clearTimeout(kept));
  });
  answer.on('close', () => upstream.destroy());
  return upstream.end(body);
}
