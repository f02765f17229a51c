import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { readState } from '../../src/stack/stack-state';
import { contentHash } from '../../src/store/audit/content-hash';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';

jest.setTimeout(hangTimeoutMs);

/** Returns a campaign of seconds: a small policy plays few tasks. */
const tiny = (name: string) => ({
  ...{ name, seed: 5, recipe: 'combined', iterations: 1 },
  environment: {
    ...{ name: 'intercode-sql', options: { databases: ['poker_player'], max_difficulty: 2 } },
    ...{ trainTasks: 12, heldOutTasks: 6, maxTurns: 2 },
  },
  rollouts: { attempts: 2, maxTokens: 24 },
  synthesis: { candidatesPerSignal: 4 },
  training: {
    init: { hiddenSize: 48, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 96 },
    ...{ sft: { epochs: 6 }, dpo: { epochs: 1 }, target: { epochs: 1 } },
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
    await start('held');
    await stack.json('pause', 'held');
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
      ...{ name: 'lost', outcome: 'started', iteration: 1, epoch: 2 },
      unusable,
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
      { name: 'calm', outcome: 'ended', iteration: null, epoch: null, unusable: 0 },
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
      { name: 'held', outcome: 'started', iteration: 0, epoch: expect.any(Number), unusable: 0 },
    ]);
    expect(await reconcile('held')).toMatchObject([{ outcome: 'running' }]);
    await stack.json('resume', 'held'); // the backup was taken while the campaign was paused
    await ended('held');
    expect(await hashOf('held')).toEqual(await hashOf('calm'));
  });
});
