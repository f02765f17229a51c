import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { policyLeases, type LeaseRequest } from '../../src/llm/policy-leases';
import { readConfig } from '../../src/config';
import { freePort } from '../support/environment-server';
import { startScriptedServer } from '../support/scripted-server';

const { python, projectRoot } = readConfig();
const root = mkdtempSync(path.join(tmpdir(), 'coevolve-leases-'));
let server: ChildProcess;
let leases: ReturnType<typeof policyLeases>;
let url: string;

/** Starts the front server with the scripted vLLM, which no test starts, because no test loads a policy. */
beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const scripted = path.join(projectRoot, 'trainer/tests/support/scripted_vllm');
  const options = ['--port', `${port}`, '--vllm-python', python, '--devices', '0', '--leases', root];
  const env = {
    ...process.env,
    PYTHONPATH: scripted,
    OMP_NUM_THREADS: '1',
    COEVOLVE_SCRIPT: path.join(root, 'script'),
  };
  server = spawn(python, ['-m', 'coevolve_vllm', ...options], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  leases = policyLeases({ url });
  while ((await leases.models()) === null && server.exitCode === null) await sleep(100);
}, 120_000);
afterAll(async () => {
  server.kill('SIGKILL');
  if (server.exitCode === null) await once(server, 'exit');
  rmSync(root, { recursive: true });
});

const requestOf = (name: string, onWait: (reason: string) => void = () => {}): LeaseRequest => ({
  policyId: name.repeat(64),
  path: path.join(root, name),
  signal: new AbortController().signal,
  onWait,
});

test('the server holds as many models as it has vLLM processes', async () => {
  await expect(leases.models()).resolves.toBe(1);
});

test('another policy waits until the lease has ended, and a training job does not get the device meanwhile', async () => {
  const events: string[] = [];
  let second: Promise<number> | undefined;
  await leases.duringLease(requestOf('a'), async () => {
    const waited = new Promise<string>((resolve) => {
      second = leases.duringLease(requestOf('b', resolve), () => Promise.resolve(events.push('b')));
    });
    expect(await waited).toBe(`policy bbbbbbbbbbbb waits for policy aaaaaaaaaaaa`);
    await leases.duringLease(requestOf('a'), () => Promise.resolve(events.push('a again')));
    await expect(leases.release([0])).resolves.toMatch(/^attempts with policy/);
    await expect(leases.release([1])).resolves.toBeNull();
  });
  await second;
  expect(events).toEqual(['a again', 'b']);
  while ((await leases.release([0])) !== null) await sleep(50); // until the server has seen the end of the connection
});

test('the lease of a killed worker ends', async () => {
  const body = JSON.stringify({ lora_name: 'a'.repeat(64), lora_path: path.join(root, 'a') });
  const script = `fetch('${url}/v1/turns', { method: 'POST', body: ${JSON.stringify(body)} })
    .then(async (r) => { for await (const line of r.body) process.stdout.write(line); })`;
  const worker = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const chunk of worker.stdout) if (String(chunk).includes('granted')) break;
  const waited: string[] = [];
  const lease = leases.duringLease(
    requestOf('b', (reason) => waited.push(reason)),
    () => Promise.resolve('played'),
  );
  while (waited.length === 0) await sleep(20);
  worker.kill('SIGKILL');
  await expect(lease).resolves.toBe('played');
});

test('an aborted wait ends with the reason of the signal', async () => {
  await leases.duringLease(requestOf('a'), async () => {
    const controller = new AbortController();
    const request = { ...requestOf('b', () => controller.abort(new Error('stopped'))), signal: controller.signal };
    await expect(leases.duringLease(request, () => Promise.resolve())).rejects.toThrow('stopped');
  });
});

test('a server without leases lets every policy play at once and holds any number of models', async () => {
  const other = await startScriptedServer();
  other.answerWith({ status: 404, body: { error: 'Not Found' } });
  const without = policyLeases({ url: other.url });
  await expect(without.duringLease(requestOf('a'), () => Promise.resolve('played'))).resolves.toBe('played');
  await expect(without.models()).resolves.toBeNull();
  await expect(without.release([0])).resolves.toBeNull();
  await other.stop();
});

test('endless answers about health and devices end at their bounds', async () => {
  let bytes = 0;
  const endless = createServer((_request, response) => {
    response.statusCode = 409;
    const write = (): void => {
      while (!response.destroyed && response.write('x'.repeat(2 ** 16))) bytes += 2 ** 16;
    };
    response.on('drain', write);
    write();
  }).listen(0, '127.0.0.1');
  await once(endless, 'listening');
  const { port } = endless.address() as AddressInfo;
  const unbounded = policyLeases({ url: `http://127.0.0.1:${port}` });
  await expect(unbounded.models()).resolves.toBeNull();
  await expect(unbounded.release([0])).resolves.toContain('status 409');
  expect(bytes).toBeLessThan(64 * 2 ** 20);
  endless.closeAllConnections();
  endless.close();
});

test('a server that is down is named with the next command, and an endless line ends', async () => {
  const down = `http://127.0.0.1:${await freePort()}`;
  const play = (): Promise<never> => Promise.reject(new Error('it plays without a lease'));
  await expect(policyLeases({ url: down }).duringLease(requestOf('a'), play)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining(`no policy server answers at ${down}; start one`),
  });

  const endless = createServer((_request, response) => {
    response.setHeader('content-type', 'application/jsonl');
    const write = (): void => {
      while (response.write('x'.repeat(2 ** 14)));
    };
    response.on('drain', write);
    write();
  }).listen(0, '127.0.0.1');
  await once(endless, 'listening');
  const { port } = endless.address() as AddressInfo;
  await expect(
    policyLeases({ url: `http://127.0.0.1:${port}` }).duringLease(requestOf('a'), play),
  ).rejects.toMatchObject({ kind: 'unavailable', message: expect.stringContaining('a line has more than') });
  endless.closeAllConnections();
  endless.close();
});
