import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket } from 'ws';
import { closeLeases } from '../../../src/envs/server/close-leases';
import { freePort, startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';

let server: EnvironmentServer;
beforeAll(async () => {
  server = await startEnvironmentServer();
}, 60_000);
afterAll(async () => server.kill());

/** Opens a session of a holder; resolves after the server's answer to its reset. */
async function hold(holder: string): Promise<WebSocket> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/envs/intercode-sql/ws`, {
    headers: { authorization: `Bearer ${server.token}` },
  });
  await once(socket, 'open');
  // The server takes the lease before it reads the task, and this task is invalid.
  socket.send(JSON.stringify({ type: 'reset', data: { task: {}, lease: { holder } } }));
  await once(socket, 'message');
  return socket;
}

test('the sessions of one holder end, and those of another continue', async () => {
  const [ended, open] = [await hold('campaign/1'), await hold('campaign/2')];
  const closed = once(ended, 'close');
  expect(await closeLeases(server, 'campaign/1')).toBe(1);
  await closed;
  expect(open.readyState).toBe(WebSocket.OPEN);
  expect(await closeLeases(server, 'campaign/1')).toBe(0);
  open.terminate();
});

test('closing leases does not fail without a server or on a server without leases', async () => {
  const stranger = createServer((_, response) => response.writeHead(404).end('{"detail": "Not Found"}'));
  await once(stranger.listen(0, '127.0.0.1'), 'listening');
  const { port } = stranger.address() as AddressInfo;
  expect(await closeLeases({ url: `http://127.0.0.1:${port}` }, 'campaign/1')).toBeUndefined();
  stranger.close();
  expect(await closeLeases({ url: `http://127.0.0.1:${await freePort()}` }, 'campaign/1')).toBeUndefined();
});
