import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';

const variables = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy'];
const before = variables.map((name) => [name, process.env[name]] as const);
const target = createServer((_, response) => response.end('reached'));
const asked: string[] = [];
const proxy = createServer().on('connect', (request, socket, head) => {
  asked.push(request.url ?? '');
  const upstream = connect((target.address() as AddressInfo).port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    upstream.write(head);
    upstream.pipe(socket).pipe(upstream);
  });
  socket.on('error', () => upstream.destroy());
  upstream.on('error', () => socket.destroy());
});

beforeAll(async () => {
  for (const server of [target, proxy]) await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  for (const server of [target, proxy]) {
    server.closeAllConnections();
    server.close();
  }
  vi.resetModules();
});

test('requests to providers and webhooks use the proxy of the operator, and those to this machine do not', async () => {
  for (const name of variables) delete process.env[name];
  process.env['HTTP_PROXY'] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const { keepOwnEnvironment } = await import('../../src/process/own-environment.js');
  keepOwnEnvironment(process.env);
  vi.resetModules();
  const { outboundFetch } = await import('../../src/requests/outbound-fetch.js');
  expect(await (await outboundFetch('http://provider.example/v1/models')).text()).toBe('reached');
  expect(asked).toEqual(['provider.example:80']);
  const local = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
  expect(await (await outboundFetch(local)).text()).toBe('reached');
  expect(asked).toHaveLength(1);
});
