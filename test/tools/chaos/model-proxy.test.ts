import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openModelGate } from '../../../tools/chaos/model-proxy';

let policyServer: Server;
let port: number;
let heard: string[];
beforeEach(async () => {
  heard = [];
  policyServer = createServer((asked, answer) => {
    heard.push(asked.url!);
    asked.resume();
    asked.on('end', () =>
      answer.writeHead(asked.url?.startsWith('/no') ? 404 : 200).end(`${asked.method} ${asked.url}`),
    );
  }).listen(0, '127.0.0.1');
  await once(policyServer, 'listening');
  ({ port } = policyServer.address() as AddressInfo);
});
afterEach(() => policyServer.close());

test('what a policy generates comes late, and any other answer at once', async () => {
  const gate = await openModelGate(port, 300);
  const came: string[] = [];
  const ask = async (path: string): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${gate.port}${path}`, { method: 'POST', body: '{}' });
    came.push(`${answer.status} ${await answer.text()}`);
  };
  await Promise.all([ask('/v1/chat/completions'), ask('/v1/unload_lora_adapter'), ask('/no')]);
  expect(came.slice(0, 2).sort()).toEqual(['200 POST /v1/unload_lora_adapter', '404 POST /no']);
  expect(came[2]).toBe('200 POST /v1/chat/completions');
  await gate.close();
});

test('a policy server that is away is one that cannot be reached', async () => {
  const gate = await openModelGate(port, 0);
  policyServer.close();
  await once(policyServer, 'close');
  await expect(fetch(`http://127.0.0.1:${gate.port}/v1/models`)).rejects.toThrow('fetch failed');
  await gate.close();
});

test('counted is what policies generate, heard or not, without probes and what is refused', async () => {
  const gate = await openModelGate(port, 60_000);
  const ask = (path: string, maxTokens: number, signal?: AbortSignal): Promise<Response> =>
    fetch(`http://127.0.0.1:${gate.port}${path}`, {
      ...{ method: 'POST', body: JSON.stringify({ max_tokens: maxTokens }) },
      ...(signal ? { signal } : {}),
    });
  const gone = new AbortController();
  const cutOff = ['/v1/chat/completions', '/v1/chat/completions'].map((path) => ask(path, 24, gone.signal));
  const probed = ask('/v1/chat/completions', 1, gone.signal);
  while (heard.length < 3) await sleep(5);
  await ask('/v1/load_lora_adapter', 24);
  await ask('/no/chat/completions', 24);
  gone.abort();
  for (const asked of [...cutOff, probed]) await expect(asked).rejects.toThrow('aborted');
  expect(gate.generated()).toBe(2);
  await gate.close();
});
