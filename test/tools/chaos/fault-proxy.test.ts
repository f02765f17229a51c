import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { openFaultProxy, type FaultProxy } from '../../../tools/chaos/fault-proxy';

let echo: Server;
let proxy: FaultProxy;
beforeAll(async () => {
  echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  proxy = await openFaultProxy((echo.address() as AddressInfo).port);
});
afterAll(async () => {
  await proxy.close();
  echo.close();
});

const open = async (): Promise<Socket> => {
  const socket = connect(proxy.port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};

async function echoOf(socket: Socket, text: string): Promise<string> {
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.write(text);
  while (received.length < text.length) await once(socket, 'data');
  return received;
}

test('the proxy forwards all bytes in order in both directions', async () => {
  const text = Array.from({ length: 20_000 }, (_, n) => n).join(' ');
  const socket = await open();
  expect(await echoOf(socket, text)).toBe(text);
  socket.destroy();
});

test('delayed bytes arrive complete and in order', async () => {
  proxy.delay(20);
  const text = Array.from({ length: 20_000 }, (_, n) => n).join(' ');
  const socket = await open();
  expect(await echoOf(socket, text)).toBe(text);
  proxy.restore();
  socket.destroy();
});

test('a cut closes all connections and rejects new ones until the restore', async () => {
  const before = await open();
  await echoOf(before, 'x');
  const ends = once(before, 'close');
  proxy.cut();
  await ends;
  const refused = await open();
  await once(refused, 'close');
  proxy.restore();
  const after = await open();
  expect(await echoOf(after, 'again')).toBe('again');
  after.destroy();
});

test('a connection to an unavailable server is closed', async () => {
  const nowhere = await openFaultProxy(1); // no process listens on port 1
  const socket = connect(nowhere.port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'close');
  await nowhere.close();
});
