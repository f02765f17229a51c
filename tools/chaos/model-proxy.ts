import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** HTTP proxy on loopback between the workers and the policy server. */
export type ModelProxy = {
  readonly port: number;
  /** Returns the number of completions that policies have started; probes, which request one token, do not count. */
  generated(): number;
  close(): Promise<void>;
};

/**
 * Starts a proxy that counts completions and delays them, to simulate large policies. Other responses are not delayed.
 *
 * @param target port of the policy server on loopback; the server may be down
 * @param latencyMs delay of every completion
 */
export async function openModelProxy(target: number, latencyMs: number): Promise<ModelProxy> {
  let count = 0;
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(incoming);
    const generates = incoming.url?.endsWith('/chat/completions') ?? false;
    const upstream = forward({ target, incoming, body, response, delayMs: generates ? latencyMs : 0 });
    if (!generates || isProbe(body)) return;
    upstream.on('finish', () => count++);
    upstream.on('response', ({ statusCode }) => (count -= statusCode === 200 ? 0 : 1)); // rejected: no completion
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy()); // the client disconnected while it sent the request
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

type Forwarded = {
  target: number;
  incoming: IncomingMessage;
  body: string;
  response: ServerResponse;
  delayMs: number;
};

/** Forwards a request. When the server is down or disconnects, the client's connection is closed, as without a proxy. */
function forward({ target, incoming, body, response, delayMs }: Forwarded) {
  const { method, url } = incoming;
  const headers = { ...incoming.headers, connection: 'close' }; // one connection per request: none stays open
  const upstream = request({ host: '127.0.0.1', port: target, method, path: url, headers });
  upstream.on('error', () => response.destroy());
  upstream.on('response', (received) => {
    received.on('error', () => response.destroy());
    const pass = (): unknown => received.pipe(response.writeHead(received.statusCode!, received.headers));
    const timer = setTimeout(pass, received.statusCode === 200 ? delayMs : 0);
    response.on('close', () => clearTimeout(timer));
  });
  response.on('close', () => upstream.destroy());
  return upstream.end(body);
}
