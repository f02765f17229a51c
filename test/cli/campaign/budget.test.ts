import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { Worker, type NativeConnection } from '@temporalio/worker';
import type { Pool } from 'pg';
import { recordOperatorCommand } from '../../../src/activities/campaign/record-operator-command';
import { readConfig, type Config } from '../../../src/config';
import { stackDown, stackUp } from '../../../src/stack';
import { findTemporal } from '../../../src/stack/temporal-service';
import { readState } from '../../../src/stack/stack-state';
import type { Budget } from '../../../src/store/spending/budgets';
import { migrate } from '../../../src/store/database/migrate';
import { createPool } from '../../../src/store/database/pool';
import { connectClient, dataConverterOf } from '../../../src/temporal/connect';
import { connectWorker } from '../../../src/temporal/connect-worker';
import { memoOf } from '../../../src/domain/campaign/memo';
import { campaignLists, type UiList } from '../../../src/temporal/ui-lists';
import type { campaign } from '../../../src/workflows';
import { modelCall, modelCampaign, settlement, type ModelCampaign } from '../../store/support/model-campaign';
import { describeOfAll } from '../../support/lane';
import { hangTimeoutMs, runCli, until } from '../../support/stack';
import { builtWorkflows, silenceWorkers } from '../../support/temporal';
import { queues, scriptedActivities, stateOf } from '../../workflows/scripted-activities';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const projectRoot = path.resolve(__dirname, '../../..');
let bare: Config;
let config: Config;
let pool: Pool;
let client: Client;
let connection: NativeConnection;
beforeAll(async () => {
  await silenceWorkers();
  mkdirSync(path.join(projectRoot, '.coevolve'), { recursive: true });
  const home = mkdtempSync(path.join(projectRoot, '.coevolve', 'test-budget-'));
  const { PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN } = process.env;
  const plain = readConfig({ PATH, COEVOLVE_PYTHON, COEVOLVE_TEMPORAL_BIN, COEVOLVE_HOME: home });
  // A server of an operator may allow the pause of workflows.
  const withPause = path.join(home, 'temporal-with-pause');
  writeFileSync(
    withPause,
    `#!/bin/sh\nexec '${findTemporal(plain)}' "$@" --dynamic-config-value frontend.WorkflowPauseEnabled=true\n`,
    { mode: 0o700 },
  );
  bare = { ...plain, temporal: { ...plain.temporal, binary: withPause } };
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

/** Stores a campaign and starts its workflow on a queue without a worker. */
async function openCampaign(changes?: Parameters<typeof modelCampaign>[1]): Promise<ModelCampaign> {
  const c = await modelCampaign(pool, changes);
  await startIdle(c.name, c.campaignId);
  return c;
}

/** Ids of the workflows that Temporal's Web UI lists at the address of a list of campaigns. */
async function listedBy(name: UiList['name']): Promise<string[]> {
  const { url } = campaignLists(config.temporal).find((list) => list.name === name)!;
  const response = await fetch(url.replace('/namespaces/', '/api/v1/namespaces/')); // its page asks for this
  expect(response.status).toBe(200);
  const { executions = [] } = (await response.json()) as { executions?: { execution: { workflowId: string } }[] };
  return executions.map(({ execution }) => execution.workflowId);
}

const startIdle = (name: string, campaignId: number) => {
  const workflowId = `campaign/${name}`;
  return client.workflow.start<typeof campaign>('campaign', {
    workflowId,
    taskQueue: 'idle',
    args: [{ ...stateOf(name, 'sft', 0), campaignId }],
    ...memoOf({ recovery: 'default' }, workflowId, { weight: 1, campaignId }),
  });
};

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
      'iteration  purpose    provider  model          calls  tokens      usd   time',
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
  const c = await openCampaign({ budget: { llmTokens: 1000, usd: 1 } });
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
  const c = await openCampaign({ budget: { llmTokens: 1000 } });
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
    recordOperatorCommand: recordOperatorCommand({ store: c.store }),
  });
  const shared = { connection, namespace: config.temporal.namespace, dataConverter: dataConverterOf(config) };
  const workers = await Promise.all(
    queues.map((taskQueue) =>
      Worker.create({
        ...shared,
        taskQueue,
        ...(taskQueue === 'workflow' ? { workflowBundle: builtWorkflows } : { activities: scripted.activities }),
      }),
    ),
  );
  const running = workers.map((worker) => worker.run());
  try {
    const state = { ...stateOf(c.name, 'sft', 0), campaignId: c.campaignId };
    const workflow = { workflowId: `campaign/${c.name}`, taskQueue: 'workflow', args: [state] } as const;
    const handle = await client.workflow.start<typeof campaign>('campaign', workflow);
    await until(async () => (await c.store.campaigns.getByName(c.name)).status === 'parked');
    await until(async () => (await listedBy('needs attention')).includes(handle.workflowId)); // the list lags behind
    expect(await listedBy('running')).toContain(handle.workflowId);
    const { progress } = await handle.query<typeof state>('status');
    const [, command] = /`coevolve budget (raise [^`]+)`/.exec(progress.parked ?? '') ?? [];
    expect(command).toBe(`raise ${c.name} --tokens 250`);
    const { stderr } = await cli(...command!.split(' '));
    expect(stderr).toContain(`${c.name} continues`);
    await expect(handle.result()).resolves.toMatchObject({ status: 'finished' });
    await until(async () => (await listedBy('ended')).includes(handle.workflowId));
    expect(await listedBy('needs attention')).toEqual([]);
    expect(await listedBy('recipe combined')).toEqual([]);
    const { committed } = await c.store.budgets.get(c.campaignId);
    expect(committed.llmTokens).toBe(12 * 15);
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
  }
});

describeOfAll('a campaign that Temporal does not continue', () => {
  const run = (...args: string[]) => runCli(bare, args);
  type Expected = { status?: string; what: RegExp; next: string; commands?: string[][] };
  /** Commands that reach the campaign by different ways; the other operator commands share the way of `pause`. */
  const everyCommand = [['pause'], ['abort'], ['approve'], ['budget', 'raise', '--tokens', '5'], ['status', '--watch']];

  /** Expects that list and status show the problem with its next command, and that commands fail with both in one line. */
  async function expectProblem(
    name: string,
    { status = 'lost', what, next, commands = [['abort']] }: Expected,
  ): Promise<void> {
    const [listed, shown] = await Promise.all([run('list'), run('status', name)]);
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`^${name} +${status} `, 'm')) });
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`^${name}: ${status}, `)) });
    const messages = [listed.stdout, shown.stdout];
    for (const args of commands) {
      const { code, stdout, stderr } = await run(...args, name);
      expect({ args, code, stdout, lines: stderr.split('\n').length }).toEqual({ args, code: 4, stdout: '', lines: 2 });
      messages.push(stderr);
    }
    for (const message of messages) {
      expect(message).toMatch(what);
      expect(message).toContain(next);
    }
  }

  test('is paused in Temporal: every other command names resume, which continues it', async () => {
    const { name } = await openCampaign();
    const { workflowService } = client;
    const paused = { namespace: config.temporal.namespace, workflowId: `campaign/${name}`, identity: 'ada' };
    await workflowService.pauseWorkflowExecution({ ...paused, reason: 'lunch' });
    const next = `\`npx coevolve resume ${name}\``;
    const what = /was paused in Temporal at 2\d{3}-\S+ by ada \(lunch\)/;
    await expectProblem(name, { status: 'paused', what, next, commands: [['pause'], ['stop']] });
    const { code, stderr } = await run('reconcile', name);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(next) });
    const resumed = run('resume', name); // no worker runs the order
    await until(async () => new RegExp(`^${name} +running `, 'm').test((await run('list')).stdout));
    await client.workflow.getHandle(`campaign/${name}`).terminate();
    expect((await resumed).stderr).toContain(
      `${name}: workflow campaign/${name} was paused in Temporal; it continues\n`,
    );
  });

  test('is lost when its workflow was terminated: every command names reconcile, which mends it', async () => {
    const [{ name, campaignId }, healthy] = [await openCampaign(), await openCampaign()];
    await client.workflow.getHandle(`campaign/${name}`).terminate('wrong click');
    const what = /was terminated in Temporal at 2\d{3}-\S+ by \S+ \(wrong click\)/;
    await expectProblem(name, { what, next: `\`npx coevolve reconcile ${name}\``, commands: everyCommand });
    expect(await run('reconcile', name)).toMatchObject({ code: 0 });
    const listed = JSON.parse((await run('list', '--json')).stdout) as { id: number; status: string }[];
    for (const id of [campaignId, healthy.campaignId])
      expect(listed.find((listedCampaign) => listedCampaign.id === id)).toMatchObject({
        status: 'running',
        problem: null,
      });
  });

  test('has the status of the database while Temporal is unavailable, and list says so', async () => {
    const { name } = await openCampaign();
    const { code, stdout, stderr } = await runCli(bare, ['list'], { TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(new RegExp(`^${name} +running `, 'm')) });
    expect(stderr).toMatch(/^statuses are those of the database, not compared with Temporal: [^\n]+\n$/);
  });

  test('is lost when its workflow was deleted', async () => {
    const { name } = await openCampaign();
    const { namespace } = config.temporal;
    const handle = client.workflow.getHandle(`campaign/${name}`);
    await client.workflowService.deleteWorkflowExecution({
      namespace,
      workflowExecution: { workflowId: handle.workflowId },
    });
    await until(() =>
      handle.describe().then(
        () => false,
        () => true,
      ),
    );
    await expectProblem(name, {
      what: /is not on the Temporal server: it was deleted/,
      next: `\`npx coevolve reconcile ${name}\``,
    });
  });

  test('is lost when the workflow of its name belongs to a campaign whose rows were deleted', async () => {
    const { name, campaignId, store } = await modelCampaign(pool);
    await startIdle(name, campaignId + 1_000);
    await expectProblem(name, {
      what: /belongs to another campaign/,
      next: `\`npx coevolve reconcile ${name} --force\``,
    });
    expect(await run('reconcile', name)).toMatchObject({ code: 1, stderr: expect.stringContaining('--force') });
    expect(await run('reconcile', name, '--force')).toMatchObject({ code: 0 });
    const { memo } = await client.workflow.getHandle(`campaign/${name}`).describe();
    expect(memo).toMatchObject({ campaignId });
    await store.campaigns.setStatus(campaignId, 'stopped'); // a row that has ended needs no workflow
    expect((await run('list')).stdout).toMatch(new RegExp(`^${name} +stopped `, 'm'));
  });
});
