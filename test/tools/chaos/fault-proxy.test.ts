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

async function say(socket: Socket, text: string): Promise<string> {
  let heard = '';
  socket.on('data', (piece: Buffer) => (heard += piece.toString()));
  socket.write(text);
  while (heard.length < text.length) await once(socket, 'data');
  return heard;
}

test('what goes in comes out, both ways and in order', async () => {
  const text = Array.from({ length: 20_000 }, (_, n) => n).join(' ');
  const socket = await open();
  expect(await say(socket, text)).toBe(text);
  socket.destroy();
});

test('delayed, it still comes whole and in order', async () => {
  proxy.delay(20);
  const text = Array.from({ length: 20_000 }, (_, n) => n).join(' ');
  const socket = await open();
  expect(await say(socket, text)).toBe(text);
  proxy.mend();
  socket.destroy();
});

test('cut, every connection ends and none is let through; mended, a new one is', async () => {
  const before = await open();
  await say(before, 'x');
  const ends = once(before, 'close');
  proxy.cut();
  await ends;
  const refused = await open();
  await once(refused, 'close');
  proxy.mend();
  const after = await open();
  expect(await say(after, 'again')).toBe('again');
  after.destroy();
});

test('a server that is away ends the connection', async () => {
  const nowhere = await openFaultProxy(1); // nothing listens at a port of the system's own
  const socket = connect(nowhere.port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'close');
  await nowhere.close();
});
