import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Answer = { status?: number; headers?: Record<string, string>; body?: unknown };

/** 'nothing' sends none, 'hang-up' closes the connection. */
type Reply = Answer | 'nothing' | 'hang-up';

export type Request = { method: string; path: string; authorization: string | undefined; body: unknown };

export type ScriptedServer = {
  url: string;
  requests: Request[];
  /** Sets the responses to all later requests, one or one per path. */
  answerWith(answer: Reply | ((path: string) => Reply)): void;
  stop(): Promise<void>;
};

/** Starts an HTTP server with scripted responses that records its requests. */
export async function startScriptedServer(): Promise<ScriptedServer> {
  let answerTo: (path: string) => Reply = () => ({});
  const requests: Request[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { method = '', url: path = '', headers } = request;
      requests.push({ method, path, authorization: headers.authorization, body });
      const answer = answerTo(path);
      if (answer === 'hang-up') request.socket.destroy();
      else if (answer !== 'nothing') send(response, answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answerWith(next) {
      answerTo = typeof next === 'function' ? next : () => next;
      requests.length = 0;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? undefined : JSON.parse(text);
}

function send(response: ServerResponse, { status = 200, headers = {}, body = {} }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (Number(headers['content-length'] ?? 0) <= text.length) return void response.end(text);
  response.write(text, () => response.destroy()); // the declared length is larger
}
