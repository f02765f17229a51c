import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

export type FickleEnvironment = {
  url: string;
  /** What it says from now on. */ say(words: string): void;
  stop(): void;
};

/** OpenEnv's wire, and what an environment can do: it promises the same words in every replay, and lies. */
export async function startFickleEnvironment(length: number): Promise<FickleEnvironment> {
  let words = 'first';
  const capabilities = { variants: false, compose: false, replay: 'observations', dense_reward: false, max_turns: 10 };
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
    say: (said) => void (words = said),
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
