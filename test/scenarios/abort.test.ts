import { readFileSync } from 'node:fs';
import { artifactStore } from '../../src/artifacts/artifact-store';
import type { DiskUsage } from '../../src/client/disk-usage';
import type { LogEntry } from '../../src/client/logs/log-entry';
import { listCommands } from '../../src/process/list-processes';
import { testOfAll } from '../support/lane';
import { bringUpStack, hangTimeoutMs, runCli, until, type TestStack } from '../support/stack';
import { tiny, type Spec } from './small-campaigns';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

let stack: TestStack;
beforeAll(async () => {
  stack = await bringUpStack('abort');
});
afterAll(() => stack?.remove());

const start = (spec: Spec) => stack.json('start', stack.specFile(spec));
const status = (name: string) => stack.status(name);
const trainersOf = (name: string): string[] =>
  listCommands()
    .map(({ command }) => command)
    .filter((command) => command.includes('coevolve_trainer') && command.includes(`jobs/campaign/${name}/`));
const firstRow = async <T>(sql: string, name: string): Promise<T> => (await stack.pool.query(sql, [name])).rows[0] as T;

const attemptsOf = async (name: string): Promise<number> => {
  const sql = `select count(*)::integer as n from trajectories t join campaigns c on c.id = t.campaign_id
    where c.name = $1 and t.iteration = 1 and t.purpose = 'train'`;
  return (await firstRow<{ n: number }>(sql, name)).n;
};

/** Sessions of a campaign at the environment server. */
async function sessionsOf(name: string): Promise<unknown[]> {
  const { url, tokenFile } = stack.config.environment;
  const { holder } = await firstRow<{ holder: string }>(
    `select 'campaign/' || id as holder from campaigns where name = $1`,
    name,
  );
  const authorization = `Bearer ${readFileSync(tokenFile!, 'utf8').trim()}`;
  const response = await fetch(`${url}/leases`, { headers: { authorization } });
  const { leases } = (await response.json()) as { leases: { holder: string | null }[] };
  return leases.filter((lease) => lease.holder === holder);
}

/** Returns everything that a campaign has open; an abort must leave nothing of it. */
const openWorkOf = async (name: string) => ({
  trainers: trainersOf(name),
  sessions: await sessionsOf(name),
  ...(await firstRow<object>(
    `select
       (select count(*)::integer from turn_journal t where t.campaign_id = c.id) as turns,
       (select count(*)::integer from model_requests t where t.campaign_id = c.id and t.outcome is null) as requests,
       (select count(*)::integer from ledger r where r.campaign_id = c.id and r.entry = 'reserve' and not exists (
         select from ledger l where l.campaign_id = r.campaign_id and l.key = r.key and l.unit = r.unit
           and l.entry <> 'reserve')) as reservations
     from campaigns c where c.name = $1`,
    name,
  )),
});
const nothing = { trainers: [], sessions: [], turns: 0, requests: 0, reservations: 0 };

async function expectAborted(name: string): Promise<void> {
  expect(await openWorkOf(name)).toEqual(nothing);
  expect(await status(name)).toMatchObject({ status: 'aborted', abortedBy: expect.any(String) });
  expect((await stack.cli('status', name)).stdout).toContain(`${name}: aborted`);
  const row = await firstRow(
    `select status, finished_at is not null as ended, (select max(kind) from events e where e.campaign_id = c.id) as event
     from campaigns c where name = $1`,
    name,
  );
  expect(row).toMatchObject({ status: 'aborted', ended: true });
  expect(readFileSync(artifactStore(stack.config.artifacts).reportPath(name), 'utf8')).toContain('aborted');
  const running = `CampaignName = "${name}" and ExecutionStatus = "Running"`;
  await until(async () => (await stack.client.workflow.count(running)).count === 0);
}

/** Campaign whose supervised start trains for minutes. */
const training: Spec = {
  ...tiny('training', 'eto', 1),
  training: { ...(tiny('training', 'eto', 1)['training'] as object), sft: { epochs: 1000 } },
};

testOfAll('an abort during rollouts removes sessions and journal and records the operator command', async () => {
  await start(tiny('playing', 'eto', 2));
  await start({ ...tiny('gated', 'eto', 2), promotion: { rule: 'always', approval: true } });
  await until(() => attemptsOf('playing'));
  await stack.cli('abort', 'playing', '--reason', 'wrong seed');
  await expectAborted('playing');
  const events = await stack.pool.query(
    `select kind, detail ->> 'reason' as reason from events e join campaigns c on c.id = e.campaign_id
     where c.name = 'playing' order by e.id`,
  );
  expect(events.rows).toEqual([{ kind: 'aborting', reason: 'wrong seed' }]);
});

testOfAll('an aborted campaign accepts another abort and rejects all other commands', async () => {
  expect(await stack.json('abort', 'playing')).toMatchObject({ name: 'playing', status: 'aborted' });
  for (const command of ['pause', 'resume', 'retry', 'skip', 'stop']) {
    const { code, stderr } = await stack.cli(command, 'playing');
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: expect.stringMatching(/^playing has ended \(aborted\)[^\n]*\n$/),
    });
  }
});

testOfAll('an abort during training waits for the killed train worker and leaves no trainer', async () => {
  await start(training);
  await until(() => Promise.resolve(trainersOf('training').some((command) => command.includes('/train/target'))));
  const followed = stack.cli('logs', 'training', '--follow');
  process.kill(stack.pidOf('worker-train'), 'SIGKILL');
  const aborting = stack.cli('abort', 'training');
  await until(async () => (await status('training')).abortedBy !== undefined);
  expect(trainersOf('training')).not.toEqual([]);
  await stack.json('up', '--unsupervised');
  expect(await aborting).toMatchObject({ code: 0, stdout: 'training: aborted\n' });
  await expectAborted('training');
  expect(await followed).toMatchObject({ code: 0, stderr: '' }); // it ends with the campaign
});

testOfAll(
  'approve --keep keeps the active policy of a campaign that is parked for the approval of a promotion',
  async () => {
    const parked = async (iteration: number) =>
      until(async () => {
        const state = await status('gated');
        return state.status === 'parked' && state.progress.iteration === iteration && state;
      }, 500);
    const { progress } = await parked(1);
    expect(progress).toMatchObject({
      phase: 'evaluate',
      parked: expect.stringContaining('coevolve approve gated --keep'),
    });
    expect((await stack.cli('status', 'gated')).stdout).toContain(
      '`npx coevolve skip gated` continues without evaluate',
    );
    expect(await stack.json('approve', 'gated', '--keep')).toMatchObject({ status: 'running' });
    await parked(2);
    const { rows } = await stack.pool.query(`select iteration, decision, reason from promotions p
    join campaigns c on c.id = p.campaign_id where c.name = 'gated' and p.role = 'target' and p.iteration > 0`);
    expect(rows).toEqual([{ iteration: 1, decision: 'keep', reason: expect.stringContaining('kept the incumbent') }]);
  },
);

testOfAll(
  'logs prints the lines of the campaign from all workers and its training jobs, in the order of their times',
  async () => {
    const lines = async (...args: string[]) => {
      const { stdout } = await stack.cli('logs', ...args, '--json');
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as LogEntry);
    };
    const all = await lines('gated');
    expect(all.map(({ time }) => time)).toEqual(all.map(({ time }) => time).toSorted());
    expect(all).toContainEqual(
      expect.objectContaining({
        source: 'worker-workflow',
        iteration: 1,
        text: expect.stringMatching(/gated.*: parked/),
      }),
    );
    expect(all).toContainEqual(
      expect.objectContaining({ source: 'worker-store', text: expect.stringMatching(/evaluatePolicy.*has to wait/) }),
    );
    expect(new Set(all.map(({ job }) => job))).toEqual(new Set([null, '0/target', '1/target', '2/target']));
    expect(all.filter(({ details }) => details['campaign'] || JSON.stringify(details).includes('playing'))).toEqual([]);
    const [step] = (await lines('gated', '--job', '1/target')).filter(({ text }) => text.startsWith('step'));
    expect(step).toMatchObject({ source: 'train 1/target', text: expect.stringMatching(/^step \d+ of \d+, loss/) });
    expect(await lines('gated', '--since', '0s')).toEqual([]);
    const followed = await stack.cli('logs', 'playing', '--follow'); // has ended
    expect(followed).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('train 0/target step') });
    expect(await stack.cli('logs', 'nobody')).toMatchObject({ code: 3 });
    const withoutDatabase = { ...stack.config, databaseUrl: 'postgres://coevolve@127.0.0.1:1/none' };
    expect(await runCli(withoutDatabase, ['logs', 'gated', '--iteration', '1'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/train 1\/target step/),
      stderr: expect.stringContaining('unavailable'),
    });
    expect(await runCli(withoutDatabase, ['du'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/artifacts\/jobs +[\d.]+ [KM]iB/),
      stderr: expect.stringContaining('ECONNREFUSED'),
    });
  },
);

testOfAll('a campaign that is parked and paused can be aborted', async () => {
  expect(await stack.json('pause', 'gated')).toMatchObject({ status: 'paused' });
  expect(await stack.json('abort', 'gated')).toMatchObject({ status: 'aborted' });
  await expectAborted('gated');
});

testOfAll('a deleted campaign leaves its name free, and its files are garbage', async () => {
  const name = 'gated';
  expect(await stack.cli('delete', name)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  expect(await stack.json('delete', name, '--yes')).toEqual({ deleted: name });
  expect(await stack.cli('status', name)).toMatchObject({ code: 3 });
  expect(await stack.cli('gc', '--older-than', '0')).toMatchObject({
    stdout: expect.stringContaining(`jobs/campaign/${name}`),
    stderr: expect.stringContaining('`npx coevolve gc --older-than 0 --yes` deletes them'),
  });
  const usage = await stack.json<DiskUsage>('du');
  const playing = usage.campaigns.find((campaign) => campaign.name === 'playing');
  expect(playing).toMatchObject({ status: 'aborted', isDeletable: true });
  expect(playing!.artifacts.jobs).toBeGreaterThan(0);
  expect(usage.campaigns.map((campaign) => campaign.name)).not.toContain(name);
  expect(usage.unusedBytes).toBeGreaterThan(0);
  for (const folder of ['temporal', 'logs'])
    expect(usage.folders.find(({ path }) => path === `${stack.config.home}/${folder}`)!.bytes).toBeGreaterThan(0);
  expect(await stack.cli('du')).toMatchObject({
    stdout: expect.stringMatching(/^playing +aborted .* [KM]iB/m),
    stderr: expect.stringMatching(/delete \S+ --yes. frees/),
  });
  expect(await start(tiny(name, 'eto', 1))).toMatchObject({ outcome: 'started' });
});
