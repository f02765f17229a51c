import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

/** A body, or a chunk that is repeated without end. */
export type HostileAnswer = Buffer | { endless: Buffer };

export type HostileServer = {
  url: string;
  /** Sets the answer to HTTP requests. */
  answerWith(answer: HostileAnswer | ((path: string) => Buffer), status?: number): void;
  /** Sets the answers to the messages of a WebSocket, in order; the last is repeated. `flood`: sent without a request. */
  answerMessagesWith(answers: Buffer[] | { endless: Buffer } | { flood: Buffer }): void;
  /** Bytes of the last endless answer. */
  sentBytes(): number;
  stop(): Promise<void>;
};

/** Starts a server whose answers break every rule; it listens for HTTP requests and WebSockets. */
export async function startHostileServer(): Promise<HostileServer> {
  let [answer, status, sent] = [Buffer.from('{}') as Parameters<HostileServer['answerWith']>[0], 200, 0];
  let messages: Parameters<HostileServer['answerMessagesWith']>[0] = [];

  const pour = async (chunk: Buffer, write: (chunk: Buffer) => Promise<boolean>): Promise<void> => {
    for (sent = 0; await write(chunk); sent += chunk.length);
  };
  const respond = (path: string, response: ServerResponse): void => {
    const body = typeof answer === 'function' ? answer(path) : answer;
    response.writeHead(status, { 'content-type': 'application/json' });
    if (Buffer.isBuffer(body)) return void response.end(body);
    void pour(
      body.endless,
      (chunk) =>
        new Promise((next) => {
          response.once('close', () => next(false));
          if (response.closed) return next(false);
          response.write(chunk, () => next(true));
        }),
    );
  };
  const server = createServer(
    (request, response) => void request.resume().on('end', () => respond(request.url!, response)),
  );
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket: WebSocket) => {
    let next = 0;
    const send = (chunk: Buffer, fin: boolean) =>
      new Promise<boolean>((resolve) =>
        socket.send(chunk, { binary: false, fin }, (error) => resolve(!error && socket.readyState === socket.OPEN)),
      );
    socket.on('error', () => undefined);
    socket.on('message', () => {
      if (Array.isArray(messages)) void send(messages[Math.min(next++, messages.length - 1)]!, true);
      else if ('endless' in messages) void pour(messages.endless, (chunk) => send(chunk, false));
    });
    if ('flood' in messages) void pour(messages.flood, (chunk) => send(chunk, true));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answerWith: (next, code = 200) => void ([answer, status] = [next, code]),
    answerMessagesWith: (next) => void (messages = next),
    sentBytes: () => sent,
    async stop() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
