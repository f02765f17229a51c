import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

export type NondeterministicEnvironment = {
  url: string;
  /** Sets the text of all further observations. */
  changeObservations(words: string): void;
  stop(): void;
};

/** OpenEnv server that declares reproducible observations although they can change. */
export async function startNondeterministicEnvironment(length: number): Promise<NondeterministicEnvironment> {
  let words = 'first';
  const capabilities = {
    variants: false,
    compose: 'none',
    states: false,
    replay: 'observations',
    dense_reward: false,
    max_turns: 10,
  };
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...capabilities, gold: true }));
  });
  new WebSocketServer({ server }).on('connection', (socket) => {
    let steps = 0;
    socket.on('message', (data: Buffer) => {
      const { type } = JSON.parse(data.toString()) as { type: string };
      if (type === 'close') return socket.close();
      steps = type === 'reset' ? 0 : steps + 1;
      const done = steps === length;
      const observation = { messages: [{ role: 'tool', content: `${steps} ${words}` }] };
      socket.send(JSON.stringify({ type: 'observation', data: { observation, done, reward: done ? 1 : 0 } }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    changeObservations: (newWords) => void (words = newWords),
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
