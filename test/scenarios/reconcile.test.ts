import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { findTemporal } from '../../src/stack/temporal-service';
import { readState } from '../../src/stack/stack-state';
import { contentHash } from '../../src/store/audit/content-hash';
import { describeOfAll } from '../support/lane';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

/** Returns a campaign of seconds: a small policy plays few tasks. */
const tiny = (name: string) => ({
  name,
  seed: 5,
  recipe: 'combined',
  iterations: 1,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['poker_player'], max_difficulty: 2 },
    trainTasks: 12,
    heldOutTasks: 6,
    maxTurns: 2,
  },
  rollouts: { attempts: 2, maxTokens: 24 },
  synthesis: { candidatesPerSignal: 4 },
  training: {
    init: { hiddenSize: 48, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 96 },
    sft: { epochs: 6 },
    dpo: { epochs: 1 },
    target: { epochs: 1 },
  },
});

let stack: TestStack;
beforeAll(async () => {
  stack = await bringUpStack('reconcile');
});
afterAll(() => stack?.remove());

type Reconciled = { name: string; outcome: string; iteration: number | null; epoch: number | null };

const start = (name: string) => stack.json('start', stack.specFile(tiny(name)));
const reconcile = (...args: string[]) => stack.json<Reconciled[]>('reconcile', ...args);
const status = (name: string) => stack.status(name);
const ended = (name: string) => stack.waitForEnd(name);

async function firstRow<T>(sql: string, name: string): Promise<T> {
  const { rows } = await stack.pool.query(sql, [name]);
  return rows[0] as T;
}

const played = async (name: string, iteration: number): Promise<boolean> => {
  const sql = `select count(*)::integer as n from trajectories t join campaigns c on c.id = t.campaign_id
    where c.name = $1 and t.purpose = 'train' and t.iteration = ${iteration}`;
  return (await firstRow<{ n: number }>(sql, name)).n > 0;
};

const hashOf = async (name: string) => {
  const { id } = await firstRow<{ id: number }>('select id from campaigns where name = $1', name);
  return contentHash(stack.pool, id);
};

/** Kills a service as a machine failure does, changes its files and starts it again. */
async function rebuild(service: 'temporal' | 'postgres', work: () => void): Promise<void> {
  const pid = stack.pidOf(service);
  process.kill(pid, service === 'postgres' ? 'SIGINT' : 'SIGKILL'); // Postgres's fast shutdown leaves a consistent folder
  await until(async () => !existsSync(`/proc/${pid}`));
  work();
  await stack.json('up', '--unsupervised');
}

const copy = (from: string, to: string): void => expect(spawnSync('cp', ['-a', from, to]).status).toBe(0);

/** Damages one attempt as earlier versions stored it. Returns 0 if the rollouts were committed too early. */
async function removeLogprobs(name: string): Promise<number> {
  const { rowCount } = await stack.pool.query(
    `update trajectory_turns set logprobs = '{}' where (campaign_id, trajectory_id) = (
       select t.campaign_id, t.id from trajectories t join campaigns c on c.id = t.campaign_id
       where c.name = $1 and t.purpose = 'train' and t.iteration = 1 and t.turn_count > 0 and t.outcome = 'scored'
         and not exists (select from phases p where p.campaign_id = t.campaign_id and p.iteration = 1
           and p.phase = 'rollout' and p.finished_at is not null)
       limit 1)`,
    [name],
  );
  return Math.min(1, rowCount ?? 0);
}

describe('a Temporal server that has lost its data', () => {
  let unusable: number;
  beforeAll(async () => {
    await start('calm');
    await until(() => played('calm', 1));
    const trainAgain = stack.suspend('worker-train'); // a slow command would find the next iteration
    await start('held');
    await stack.json('pause', 'held');
    trainAgain();
    await start('lost');
    await ended('calm');
    await until(() => played('lost', 1));
    const folder = path.join(stack.bare.home, 'temporal');
    await rebuild('temporal', () => rmSync(folder, { recursive: true }));
    unusable = await removeLogprobs('lost');
  });

  test('concurrent reconciles start every campaign from the database exactly once', async () => {
    const [first, second] = await Promise.all([reconcile('--all'), reconcile('--all')]);
    const outcomes = (name: string) => [...first, ...second].filter((result) => result.name === name);
    expect(
      outcomes('lost')
        .map(({ outcome }) => outcome)
        .sort(),
    ).toEqual(['running', 'started']);
    expect(outcomes('lost')).toContainEqual({
      name: 'lost',
      outcome: 'started',
      iteration: 1,
      epoch: 2,
      unusable,
      abandoned: 0,
    });
    expect(
      outcomes('held')
        .map(({ outcome }) => outcome)
        .sort(),
    ).toEqual(['running', 'started']);
    expect(outcomes('calm')).toEqual([]);
  });

  test('an ended campaign is not restarted, and a paused one stays paused', async () => {
    expect(await reconcile('calm')).toEqual([
      { name: 'calm', outcome: 'ended', iteration: null, epoch: null, unusable: 0, abandoned: 0 },
    ]);
    expect(await stack.json('start', stack.specFile(tiny('calm')))).toMatchObject({ outcome: 'ended' });
    expect(await status('held')).toMatchObject({ status: 'paused' });
    expect(await reconcile('held')).toMatchObject([{ outcome: 'running' }]);
  });

  test('a campaign that was interrupted in an iteration finishes with the content of an undisturbed one', async () => {
    await ended('lost');
    expect(await status('lost')).toMatchObject({ status: 'finished', scores: [{ iteration: 0 }, { iteration: 1 }] });
    expect(await hashOf('lost')).toEqual(await hashOf('calm'));
    const late = await firstRow<{ n: number }>(
      `select count(*)::integer as n from trajectories t join campaigns c on c.id = t.campaign_id
       join iterations i on i.campaign_id = c.id and i.number = t.iteration
       where c.name = $1 and t.epoch < i.epoch and t.recorded_at > (
         select min(recorded_at) from trajectories n where n.campaign_id = c.id and n.epoch = i.epoch)`,
      'lost',
    );
    expect(late).toEqual({ n: 0 }); // no row of workers that still played for the lost server
  });
});

describe('a database that was restored from an older backup', () => {
  let folder: string;
  beforeAll(async () => {
    folder = readState(stack.bare.home).postgresDirectory!;
    await rebuild('postgres', () => copy(folder, `${folder}.older`));
    await stack.json('resume', 'held');
    await until(() => played('held', 1));
    await rebuild('postgres', () => {
      rmSync(folder, { recursive: true });
      copy(`${folder}.older`, folder);
      rmSync(`${folder}.older`, { recursive: true });
    });
  });

  test('parks a campaign that is ahead of it; the named command continues from the restored rows', async () => {
    const parked = await until(async () => (await status('held')).progress.parked, 500);
    expect(parked).toMatch(/^the database is older than the campaign: .*`coevolve reconcile held`$/);
    expect(await reconcile('held')).toEqual([
      {
        name: 'held',
        outcome: 'started',
        iteration: 0,
        epoch: expect.any(Number),
        unusable: 0,
        abandoned: expect.any(Number),
      },
    ]);
    expect(await reconcile('held')).toMatchObject([{ outcome: 'running' }]);
    // The backup was taken while the campaign was paused: it is paused again, or goes on to its end if it was parked since
    const grows = async () => (await status('held')).progress.iteration === 1;
    const isPaused = async () => (await status('held')).status === 'paused';
    await until(async () => (await grows()) || (await isPaused()));
    if (await isPaused()) await stack.json('resume', 'held');
    await until(grows);
    const trainAgain = stack.suspend('worker-train');
    const work = 'ExecutionStatus = "Running" and WorkflowId starts_with "campaign/held/iteration/1/epoch/"';
    await until(
      async () => (await stack.client.workflow.count(work)).count > 0 || (await status('held')).status === 'finished',
    );
    expect(await reconcile('held')).toMatchObject([{ abandoned: 0 }]); // the id of the iteration itself has no epoch
    trainAgain();
    await ended('held');
    expect(await hashOf('held')).toEqual(await hashOf('calm'));
  });
});

describeOfAll('a campaign that an operator changed in Temporal or in the database', () => {
  const handle = (suffix = '') => stack.client.workflow.getHandle(`campaign/touched${suffix}`);

  beforeAll(async () => {
    process.kill(stack.pidOf('worker-train'), 'SIGKILL'); // its activities wait
    await start('touched');
  });

  test('has a paused activity: list, status and orders say so, and resume continues it', async () => {
    const training = handle('/iteration/0/train/base');
    const activityId = await until(async () => {
      const description = await training.describe().catch(() => null);
      const waiting = description?.raw.pendingActivities?.find(
        ({ activityType }) => activityType?.name === 'submitTraining',
      );
      return waiting?.activityId;
    });
    const { workflowId } = training;
    const { namespace } = stack.client.options;
    const paused = { namespace, execution: { workflowId }, id: activityId, identity: 'ada' };
    await stack.client.workflowService.pauseActivity({ ...paused, reason: 'lunch' });
    const what = `activity submitTraining of ${workflowId} was paused in Temporal by ada (lunch)`;
    const { stdout } = await stack.cli('status', 'touched');
    expect(stdout).toContain(`${what}\ncontinue with \`npx coevolve resume touched\``);
    await until(async () => (await stack.cli('list')).stdout.includes(`touched is held up: ${what}`));
    expect((await stack.cli('pause', 'touched')).stderr).toBe(
      `touched: ${what}; continue with \`npx coevolve resume touched\`\n`,
    );
    expect((await stack.cli('resume', 'touched')).stderr).toBe(`touched: ${what}; it continues\n`);
    expect(await stack.json('status', 'touched')).toMatchObject({ status: 'running', pausedWork: [] });
  });

  test('was terminated: start names reconcile, after which the campaign finishes', async () => {
    await handle().terminate();
    const { code, stderr } = await stack.cli('start', stack.specFile(tiny('touched')));
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining('`npx coevolve reconcile touched`') });
    expect(await reconcile('touched')).toMatchObject([{ outcome: 'started', iteration: 0, epoch: 2 }]);
    await stack.json('up', '--unsupervised');
    await ended('touched');
    expect(await hashOf('touched')).toEqual(await hashOf('calm'));
  });

  test('was reset after its first iteration: it fails, and reconcile continues it', async () => {
    await start('reset');
    await until(async () => (await status('reset')).progress.phase === 'train');
    const trainAgain = stack.suspend('worker-train');
    const { address, namespace } = stack.config.temporal;
    const reset = [
      'workflow',
      'reset',
      '--workflow-id',
      'campaign/reset',
      '--type',
      'FirstWorkflowTask',
      '--reason',
      'x',
    ];
    const ran = spawnSync(findTemporal(stack.config), [...reset, '--address', address!, '--namespace', namespace]);
    expect(ran.status).toBe(0);
    await until(async () => (await stack.cli('list')).stdout.match(/^reset +lost /m));
    const { stdout } = await stack.cli('status', 'reset');
    expect(stdout).toMatch(/failed in Temporal[^]*`npx coevolve reconcile reset`[^]* train +- +not finished\n/);
    trainAgain();
    expect(await reconcile('reset')).toMatchObject([{ outcome: 'started' }]);
    expect(await stack.json('abort', 'reset')).toMatchObject({ status: 'aborted' });
  });

  /** Workers that write at the same time can make the database choose this statement as the victim of a deadlock. */
  const loseRows = (): Promise<unknown> =>
    until(() =>
      stack.pool.query('truncate campaigns cascade').catch((error: { code?: string }) => {
        if (error.code !== '40P01') throw error;
        return undefined;
      }),
    );

  test('has lost its rows while it ran: start refuses its name and names the command that ends its workflow', async () => {
    await start('orphan');
    await loseRows();
    const { code, stderr } = await stack.cli('start', stack.specFile(tiny('orphan')));
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: expect.stringContaining('`npx coevolve reconcile orphan --force`'),
    });
    expect(await stack.json('list')).toEqual([]);
    expect(await reconcile('orphan', '--force')).toMatchObject([{ outcome: 'ended' }]);
    expect(await stack.cli('start', stack.specFile(tiny('orphan')))).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('`npx coevolve reconcile orphan`'),
    });
    expect(await reconcile('orphan')).toMatchObject([{ outcome: 'started' }]);
    expect(await status('orphan')).toMatchObject({ status: 'running' });
  });
});
