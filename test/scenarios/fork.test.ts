import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { forkSpec } from '../../src/specification/fork-spec';
import type { CampaignSpec } from '../../src/specification/campaign-spec';
import { specHash } from '../../src/specification/read-spec';
import { readState } from '../../src/stack/stack-state';
import { createStore } from '../../src/store';
import { contentHash } from '../../src/store/audit/content-hash';
import { forkCampaign } from '../../src/store/campaign/fork-campaign';
import { testOfAll } from '../support/lane';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

type Spec = { name: string } & Record<string, unknown>;

/** Returns a campaign of seconds: a small policy plays few tasks; the pool grows, and tasks retire from it. */
const tiny = (name: string, recipe: string, changes: object): Spec => ({
  name,
  seed: 5,
  recipe,
  iterations: 2,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['poker_player'], max_difficulty: 2 },
    trainTasks: 10,
    heldOutTasks: 6,
    maxTurns: 2,
  },
  signals: { rare: { minTotal: 2, thetaPercent: 50, among: 'all', measure: 'share' } },
  pool: { retirement: { above: 0.9, below: 0.1, patience: 1 } },
  training: {
    init: { hiddenSize: 48, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 96 },
    sft: { epochs: 6 },
    dpo: { epochs: 1 },
    target: { epochs: 1 },
    grpo: { learningRate: 3e-4 },
  },
  ...changes,
});

/** RL jobs, whose optimizers continue from iteration to iteration. */
const steps = tiny('steps', 'coevolve', {
  rollouts: { attempts: 2, maxTokens: 24, tasksPerStep: 3, stepsPerIteration: 2 },
  synthesis: { initialTasks: 8, candidatesPerSignal: 4 },
});
const pairs = tiny('pairs', 'combined', {
  rollouts: { attempts: 2, maxTokens: 24 },
  synthesis: { candidatesPerSignal: 4 },
});

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-fork-'));
const backup = path.join(folder, 'backup');
let stack: TestStack;
let restored: TestStack | undefined;
beforeAll(async () => {
  stack = await bringUpStack('fork');
});
afterAll(async () => {
  await restored?.remove();
  await stack?.remove();
  rmSync(folder, { recursive: true, force: true });
});

const start = (spec: Spec) => stack.json('start', stack.specFile(spec));
const fork = (source: string, iteration: number, name: string) =>
  stack.json<{ outcome: string }>('fork', source, '--from-iteration', String(iteration), '--name', name);

async function hashOf(name: string, { pool } = stack) {
  return contentHash(pool, (await createStore(pool).campaigns.getByName(name)).id);
}

const hasFinished = (name: string, iteration: number) => async (): Promise<boolean> => {
  const { rowCount } = await stack.pool.query(
    `select from iterations i join campaigns c on c.id = i.campaign_id
     where c.name = $1 and i.number = $2 and i.finished_at is not null`,
    [name, iteration],
  );
  return rowCount === 1;
};

describe('two campaigns and their forks', () => {
  beforeAll(async () => {
    await start(pairs);
    await start(steps);
    await until(hasFinished('pairs', 0));
    expect(await fork('pairs', 0, 'pairs-early')).toMatchObject({ outcome: 'started' }); // its source is still running
    await until(hasFinished('steps', 1));
    await crashAfterRows('steps', 1, 'steps-late');
  });

  /** Stores a fork without starting its workflow, as a crash between both does. */
  async function crashAfterRows(source: string, iteration: number, name: string): Promise<void> {
    const row = await createStore(stack.pool).campaigns.getByName(source);
    const spec = forkSpec(row.spec as CampaignSpec, { name, iteration, changes: [] });
    const { created } = await forkCampaign(stack.pool, {
      source: row,
      iteration,
      name,
      spec,
      specHash: specHash(spec),
      actor: 'test',
    });
    expect(created).toBe(true);
  }

  testOfAll('a repeated fork command starts the workflow of a fork that crashed before it', async () => {
    expect(await fork('steps', 1, 'steps-late')).toMatchObject({ outcome: 'started' });
  });

  testOfAll('a backup can be taken while campaigns run', async () => {
    const written = await stack.json('backup', backup, '--artifacts');
    expect(written).toMatchObject({ campaigns: 4, missing: [] });
  });

  testOfAll('the same fork is joined, and another fork with its name is rejected', async () => {
    expect(await fork('steps', 1, 'steps-late')).toMatchObject({ outcome: expect.stringMatching(/joined|ended/) });
    const { code, stderr } = await stack.cli('fork', 'steps', '--from-iteration', '0', '--name', 'steps-late');
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining('"steps-late" is taken') });
  });

  testOfAll('all campaigns continue on a copy of the home after down and up', async () => {
    await stack.json('down');
    const { home } = stack.bare;
    const { postgresDirectory } = readState(home); // outside the home when Postgres's user cannot reach into it
    const folders = [home, ...(postgresDirectory && !postgresDirectory.startsWith(home) ? [postgresDirectory] : [])];
    for (const [i, source] of folders.entries()) {
      const copy = path.join(folder, `cold-${i}`);
      expect(spawnSync('cp', ['-a', source, copy]).status).toBe(0);
      rmSync(source, { recursive: true });
      expect(spawnSync('cp', ['-a', copy, source]).status).toBe(0);
    }
    await stack.json('up');
    for (const name of ['pairs', 'steps', 'pairs-early', 'steps-late']) await stack.waitForEnd(name);
    const listed = await stack.json<{ name: string; status: string }[]>('list');
    expect(listed.map(({ status }) => status)).toEqual(['finished', 'finished', 'finished', 'finished']);
  });

  testOfAll('a finished fork has the content of its source, independent of its iteration', async () => {
    expect(await hashOf('pairs-early')).toEqual(await hashOf('pairs'));
    expect(await hashOf('steps-late')).toEqual(await hashOf('steps'));
    const { rows } = await stack.pool.query<{ retired: number; synthesized: number; resumed: number }>(
      `select (select count(*)::integer from task_retirements) as retired,
         (select count(*)::integer from tasks where origin = 'synthesized' and verdict = 'admitted') as synthesized,
         (select count(*)::integer from training_runs where initial_state is not null) as resumed`,
    );
    for (const count of Object.values(rows[0]!)) expect(count).toBeGreaterThan(0); // otherwise the equality proves little
  });

  testOfAll('list, status and compare print the origin of a fork', async () => {
    expect((await stack.cli('list')).stdout).toContain('pairs, after iteration 0');
    expect((await stack.cli('status', 'steps-late')).stdout).toContain('forked from steps, after iteration 1');
    expect((await stack.cli('compare', 'pairs', 'pairs-early')).stdout).toContain(
      'pairs-early is forked from pairs, after iteration 0',
    );
  });

  testOfAll('unfinished campaigns of a restored backup finish on another stack with the same content', async () => {
    const names = ['pairs', 'steps', 'pairs-early', 'steps-late'];
    const hashes = await Promise.all(names.map((name) => hashOf(name)));
    await stack.json('down');
    restored = await bringUpStack('restored');
    const { unfinished } = await restored.json<{ unfinished: string[] }>('restore', backup);
    expect(unfinished).toContain('steps-late');
    await restored.json('reconcile', '--all');
    for (const name of unfinished) await restored.waitForEnd(name);
    for (const [i, name] of names.entries()) expect([name, await hashOf(name, restored)]).toEqual([name, hashes[i]]);
  });
});
