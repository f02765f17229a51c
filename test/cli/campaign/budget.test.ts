import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { Worker, type NativeConnection } from '@temporalio/worker';
import type { Pool } from 'pg';
import { recordOperatorCommand } from '../../../src/activities/campaign/record-operator-command';
import type { Dependencies } from '../../../src/activities/base/dependencies';
import { readConfig, type Config } from '../../../src/config';
import { stackDown, stackUp } from '../../../src/stack';
import { readState } from '../../../src/stack/stack-state';
import type { Budget } from '../../../src/store/spending/budgets';
import { migrate } from '../../../src/store/base/migrate';
import { createPool } from '../../../src/store/base/pool';
import { connectClient, dataConverterOf } from '../../../src/temporal/connect';
import { connectWorker } from '../../../src/temporal/connect-worker';
import type { campaign } from '../../../src/workflows';
import { modelCall, modelCampaign, settlement, type ModelCampaign } from '../../store/support/model-campaign';
import { hangTimeoutMs, runCli, until } from '../../support/stack';
import { bundleOf, silenceWorkers } from '../../support/temporal';
import { queues, scriptedActivities, stateOf } from '../../workflows/scripted-activities';

jest.setTimeout(hangTimeoutMs);

const projectRoot = path.resolve(__dirname, '../../..');
let bare: Config;
let config: Config;
let pool: Pool;
let client: Client;
let connection: NativeConnection;
beforeAll(async () => {
  silenceWorkers();
  mkdirSync(path.join(projectRoot, '.coevolve'), { recursive: true });
  const home = mkdtempSync(path.join(projectRoot, '.coevolve', 'test-budget-'));
  const { PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN } = process.env;
  bare = readConfig({ PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN, COEVOLVE_HOME: home });
  config = await stackUp(bare, { services: ['postgres', 'temporal'] });
  await migrate(config.databaseUrl!, projectRoot);
  pool = createPool(config.databaseUrl!, 4);
  [client, connection] = await Promise.all([connectClient(config), connectWorker(config)]);
});
afterAll(async () => {
  await client?.connection.close();
  await connection?.close();
  await pool?.end();
  await stackDown(bare);
  const { postgresDirectory } = readState(bare.home); // outside the home when Postgres's user cannot reach into it
  for (const folder of [postgresDirectory, bare.home]) if (folder) rmSync(folder, { recursive: true, force: true });
});

const cli = (...args: string[]) => runCli(bare, ['budget', ...args]);

const estimate = { llmTokens: 100, usd: 0.01 };

async function charge({ store, key }: ModelCampaign, callId: string): Promise<void> {
  const call = modelCall(key, callId);
  const reservation = await store.modelCalls.reserve(call, estimate);
  if (reservation.kind === 'reserved') await store.modelCalls.settle(call, reservation.request, settlement());
}

test('budget prints the committed amounts with their limits, the spending by purpose and the waste', async () => {
  const c = await modelCampaign(pool, { budget: { llmTokens: 20_000 } });
  await charge(c, 'reflect/1');
  for (let requests = 0; requests < 2; requests++)
    await c.store.modelCalls.reserve(modelCall(c.key, 'reflect/2'), estimate);
  const { stdout, code } = await cli(c.name);
  expect(code).toBe(0);
  expect(stdout).toBe(
    [
      'tokens  215 of 20,000',
      'usd     $0.0210 of no limit',
      '',
      'iteration  purpose    provider  model          calls  tokens  usd      time',
      '        1  reflector  scripted  scripted-chat      1      15  $0.0010  0.5 s',
      'possibly charged without an answer (upper bound; --json lists the requests): 1 call, 100 tokens, $0.0100',
      '',
    ].join('\n'),
  );
  expect(JSON.parse((await cli(c.name, '--json')).stdout)).toMatchObject({
    limit: { llmTokens: 20_000, usd: null },
    spent: [{ purpose: 'reflector', tokens: 15 }],
    unconfirmed: [{ requestId: `${c.name}/reflect/2/1` }],
  });
});

test('a raise with the same request id is applied once', async () => {
  const c = await modelCampaign(pool, { budget: { llmTokens: 1000, usd: 1 } });
  const raise = ['raise', c.name, '--tokens', '500', '--usd', '0.5', '--request-id', 'monday'];
  await cli(...raise);
  const { stdout } = await cli(...raise, '--json');
  expect((JSON.parse(stdout) as Budget).limit).toEqual({ llmTokens: 1500, usd: 1.5 });
});

test.each([
  { args: [], code: 2, message: 'budget raise: found no amount, expected --tokens, --usd or both' },
  { args: ['--tokens', '0'], code: 2, message: 'a number above 0' },
  { args: ['--usd', 'much'], code: 2, message: 'a number above 0' },
  { args: ['--usd', '1'], code: 4, message: 'has no limit on usd' },
])('a raise with $args is rejected: $message', async ({ args, code: expected, message }) => {
  const c = await modelCampaign(pool, { budget: { llmTokens: 1000 } });
  const { code, stderr } = await cli('raise', c.name, ...args);
  expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringContaining(message) });
});

test('a campaign that has ended rejects a raise', async () => {
  const c = await modelCampaign(pool, { budget: { llmTokens: 1000 } });
  await c.store.campaigns.setStatus(c.campaignId, 'finished');
  expect(await cli('raise', c.name, '--tokens', '5')).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('ended'),
  });
});

test('a campaign that parks at its budget names the command that continues it', async () => {
  const c = await modelCampaign(pool, { budget: { llmTokens: 250 } });
  const scripted = scriptedActivities(c.name, {
    async seedTasks() {
      for (const callId of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l']) await charge(c, callId);
    },
    recordOperatorCommand: recordOperatorCommand({ store: c.store } as Dependencies),
  });
  const shared = { connection, namespace: config.temporal.namespace, dataConverter: dataConverterOf(config) };
  const workflowBundle = await bundleOf();
  const workers = await Promise.all(
    queues.map((taskQueue) =>
      Worker.create({
        ...{ ...shared, taskQueue },
        ...(taskQueue === 'workflow' ? { workflowBundle } : { activities: scripted.activities }),
      }),
    ),
  );
  const running = workers.map((worker) => worker.run());
  try {
    const state = { ...stateOf(c.name, 'sft', 0), campaignId: c.campaignId };
    const workflow = { workflowId: `campaign/${c.name}`, taskQueue: 'workflow', args: [state] } as const;
    const handle = await client.workflow.start<typeof campaign>('campaign', workflow);
    await until(async () => (await c.store.campaigns.getByName(c.name)).status === 'parked');
    const { progress } = await handle.query<typeof state>('status');
    const [, command] = /`coevolve budget (raise [^`]+)`$/.exec(progress.parked ?? '') ?? [];
    expect(command).toBe(`raise ${c.name} --tokens 250`);
    const { stderr } = await cli(...command!.split(' '));
    expect(stderr).toContain(`${c.name} continues`);
    await expect(handle.result()).resolves.toMatchObject({ status: 'finished' });
    const { committed } = await c.store.budgets.get(c.campaignId);
    expect(committed.llmTokens).toBe(12 * 15);
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
  }
});
