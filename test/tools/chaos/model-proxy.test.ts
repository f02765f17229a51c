import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openModelProxy } from '../../../tools/chaos/model-proxy';

let policyServer: Server;
let port: number;
let requested: string[];
beforeEach(async () => {
  requested = [];
  policyServer = createServer((request, response) => {
    requested.push(request.url!);
    request.resume();
    request.on('end', () =>
      response.writeHead(request.url?.startsWith('/no') ? 404 : 200).end(`${request.method} ${request.url}`),
    );
  }).listen(0, '127.0.0.1');
  await once(policyServer, 'listening');
  ({ port } = policyServer.address() as AddressInfo);
});
afterEach(() => policyServer.close());

test('completions are delayed, other responses are not', async () => {
  const proxy = await openModelProxy(port, 2_000);
  const responses: string[] = [];
  const send = async (path: string): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${proxy.port}${path}`, { method: 'POST', body: '{}' });
    responses.push(`${response.status} ${await response.text()}`);
  };
  await Promise.all([send('/v1/chat/completions'), send('/v1/unload_lora_adapter'), send('/no')]);
  expect(responses.slice(0, 2).sort()).toEqual(['200 POST /v1/unload_lora_adapter', '404 POST /no']);
  expect(responses[2]).toBe('200 POST /v1/chat/completions');
  await proxy.close();
});

test('a request to an unavailable policy server fails', async () => {
  const proxy = await openModelProxy(port, 0);
  policyServer.close();
  await once(policyServer, 'close');
  await expect(fetch(`http://127.0.0.1:${proxy.port}/v1/models`)).rejects.toThrow('fetch failed');
  await proxy.close();
});

test('the proxy counts completions, also of disconnected clients, without probes and rejected requests', async () => {
  const proxy = await openModelProxy(port, 60_000);
  const send = (path: string, maxTokens: number, signal?: AbortSignal): Promise<Response> =>
    fetch(`http://127.0.0.1:${proxy.port}${path}`, {
      method: 'POST',
      body: JSON.stringify({ max_tokens: maxTokens }),
      ...(signal ? { signal } : {}),
    });
  const disconnect = new AbortController();
  const disconnected = ['/v1/chat/completions', '/v1/chat/completions'].map((path) =>
    send(path, 24, disconnect.signal),
  );
  const probe = send('/v1/chat/completions', 1, disconnect.signal);
  while (requested.length < 3) await sleep(5);
  await send('/v1/load_lora_adapter', 24);
  await send('/no/chat/completions', 24);
  disconnect.abort();
  for (const request of [...disconnected, probe]) await expect(request).rejects.toThrow('aborted');
  expect(proxy.generated()).toBe(2);
  await proxy.close();
});
