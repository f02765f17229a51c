import { readFileSync } from 'node:fs';
import path from 'node:path';
import { deriveSeed } from '../../src/domain/random/seed-tree';
import type { Experiment } from '../../src/domain/experiment/experiment';
import type { ExperimentDetails } from '../../src/client/experiments/experiment-status';
import type { CellRow } from '../../src/store/experiment/cells';
import { createStore } from '../../src/store';
import { experimentCellStore } from '../../src/store/experiment/cells';
import { experimentRecordStore } from '../../src/store/experiment/records';
import { countDifferingScores, scoresHash } from '../../src/store/experiment/scores';
import { testOfAll } from '../support/lane';
import { insertFrozen, twoArms } from '../support/frozen-experiment';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

/** A campaign of seconds that trains: the supervised start alone. */
const base = (epochs: number) => ({
  environment: {
    name: 'intercode-sql',
    options: { databases: ['poker_player'], max_difficulty: 2 },
    trainTasks: 8,
    heldOutTasks: 8,
    maxTurns: 2,
  },
  recipe: 'sft',
  iterations: 0,
  rollouts: { attempts: 1, maxTokens: 16 },
  training: {
    init: { hiddenSize: 32, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 64 },
    sft: { epochs },
  },
});

const experimentOf = (name: string, looks: number[], concurrency = 2): Experiment =>
  twoArms({ name, looks, concurrency }, base(1), base(2));

let stack: TestStack;
beforeAll(async () => {
  stack = await bringUpStack('experiment', undefined, { variables: { COEVOLVE_RECOVERY: 'fast' } });
});
afterAll(() => stack?.remove());

/** The same with an iteration that trains on the experts and plays nothing. */
const continued = (epochs: number) => ({ ...base(epochs), recipe: 'sft-continued', iterations: 1 });

const freeze = (resolved: Experiment): Promise<number> => insertFrozen(stack.pool, resolved);
const status = (name: string) => stack.json<ExperimentDetails>('experiment', 'status', name);
const cellsOf = (id: number): Promise<CellRow[]> => experimentCellStore(stack.pool).list(id);

async function end(name: string): Promise<ExperimentDetails> {
  const details = await stack.json<ExperimentDetails>('experiment', 'status', name, '--watch');
  await stack.client.workflow.getHandle(`experiment/${name}`).result();
  return details;
}

type Analysis = { contrasts: { contrast: string; verdict: string }[] };

let calmHash: string;

test('an experiment plays every arm with every seed as campaigns, and stores the long table', async () => {
  const file = stack.specFile({
    name: 'calm',
    seed: 7,
    question: 'Do more epochs help?',
    base: base(1),
    arms: { short: {}, long: { set: { 'training.sft.epochs': 2 } } },
    seeds: { looks: [1, 2] },
    concurrency: 2,
    analysis: { primary: { contrast: 'long - short' }, equivalence: { margin: 0.05 } },
  });
  expect(await stack.json('experiment', 'start', file, '--seeds', '1')).toMatchObject({ outcome: 'started', seeds: 1 });
  expect(await end('calm')).toMatchObject({ looks: [{ seeds: 1, finished: 2 }, { finished: 2 }] });
  const extended = await stack.json('experiment', 'extend', 'calm', '--seeds', '2');
  expect(extended).toMatchObject({ outcome: 'started', seeds: 2 });
  const { rows } = await stack.pool.query<{ id: number }>(`select id from experiments where name = 'calm'`);
  const { id } = rows[0]!;
  expect(await end('calm')).toMatchObject({
    status: 'finished',
    looks: [
      { seeds: 1, finished: 2, cells: 2 },
      { seeds: 2, finished: 4, cells: 4 },
    ],
  });
  const cells = await cellsOf(id);
  expect(cells.map(({ campaign }) => campaign).sort()).toEqual([
    'calm-long-s1',
    'calm-long-s2',
    'calm-short-s1',
    'calm-short-s2',
  ]);
  expect(cells.map(({ exploratory }) => exploratory)).toEqual([false, false, false, false]);
  for (const seed of [1, 2]) {
    const [one, other] = cells.filter((cell) => cell.seed === seed);
    expect(one!.testHash).toBe(other!.testHash);
    expect(one!.manifest!.seed).toBe(deriveSeed(7, 'cell', seed));
  }
  expect(cells.map(({ leakedTasks }) => leakedTasks)).toEqual([0, 0, 0, 0]);
  const updates = (arm: string) =>
    cells.filter((cell) => cell.arm === arm).map(({ checkpoints }) => checkpoints!.at(-1)!.effort.updates.nominal);
  expect(updates('long')).toEqual(updates('short').map((count) => 2 * count));
  const { scores } = await experimentRecordStore(stack.pool).get('calm');
  expect(scores.length).toBe(4 * 4);
  expect(new Set(scores.map(({ checkpoint }) => checkpoint))).toEqual(new Set([0]));
  calmHash = await scoresHash(stack.pool, id);
});

test('without a name the status lists all experiments', async () => {
  const { code, stdout } = await stack.cli('experiment', 'status');
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^calm +finished +2 +4 of 4 +1 +2/m) });
  expect(await stack.json('experiment', 'status')).toMatchObject([{ name: 'calm', status: 'finished' }]);
});

test('a finished experiment is not played again, and other numbers of seeds than the looks are refused', async () => {
  expect(await stack.json('experiment', 'start', 'calm')).toMatchObject({ outcome: 'ended' });
  const { code, stderr } = await stack.cli('experiment', 'extend', 'calm', '--seeds', '3');
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('seeds: found 3, expected 1 or 2') });
});

test('a cell that is played again from its manifest has the same content hash', async () => {
  const rerun = await stack.json<{ rerun: string }>('experiment', 'rerun', 'calm-long-s2', '--check');
  expect(rerun).toMatchObject({ rerun: 'calm-long-s2-rerun-1', equal: true, differing: [], differingScores: 0 });
  const { rows } = await stack.pool.query(`select spec #> '{compute,reuse}' as reuse from campaigns where name = $1`, [
    rerun.rerun,
  ]);
  expect(rows).toEqual([{ reuse: false }]); // it trains, also where the policy of the cell could be found
});

test('scores that were changed in the long table, or removed from it, are found by a campaign with the same content', async () => {
  const cell = (await experimentCellStore(stack.pool).findByCampaign('calm-long-s2'))!;
  const { id } = await createStore(stack.pool).campaigns.getByName('calm-long-s2-rerun-1');
  const ofCell = `experiment_id = ${cell.experimentId} and arm = 'long' and seed = 2 and task =`;
  const client = await stack.pool.connect();
  try {
    await client.query('begin');
    await client.query(
      `update experiment_scores set success = 1 - success where ${ofCell} (select min(task) from experiment_scores where ${ofCell} task)`,
    );
    expect(await countDifferingScores(client, cell, id)).toBe(1);
    await client.query(
      `delete from experiment_scores where ${ofCell} (select max(task) from experiment_scores where ${ofCell} task)`,
    );
    expect(await countDifferingScores(client, cell, id)).toBe(2);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('the analysis names the broken rule of effort; the exported table alone gives the same one, and is imported once', async () => {
  const folder = path.join(stack.config.home, 'exported');
  const analysis = await stack.json<Analysis>('experiment', 'analyze', 'calm');
  expect(analysis.contrasts).toMatchObject([{ contrast: 'long - short', verdict: 'invalid' }]);
  expect(JSON.stringify(analysis)).toMatch(/updates/);
  const page = path.join(folder, 'calm.html');
  expect(await stack.json('experiment', 'report', 'calm', '--out', page)).toEqual({ path: page });
  expect(readFileSync(page, 'utf8')).toContain('invalid');
  const { files } = await stack.json<{ files: string[] }>(
    'experiment',
    'export',
    'calm',
    '--format',
    'jsonl,csv,md,latex',
    '--output',
    folder,
  );
  const table = files.find((file) => file.endsWith('.jsonl'))!;
  expect((await stack.json<Analysis>('experiment', 'analyze', '--table', table)).contrasts).toEqual(analysis.contrasts);
  expect(await stack.json('experiment', 'import', 'calm', table)).toMatchObject({
    imported: [],
    scores: 0,
    skipped: [],
    present: expect.arrayContaining(['long-s1', 'long-s2', 'short-s1', 'short-s2']),
  });
});

testOfAll(
  'with killed workers, more seeds meanwhile, a pause and a terminated workflow the long table is that of the undisturbed run',
  async () => {
    const id = await freeze(experimentOf('storm', [1, 2]));
    process.kill(stack.pidOf('worker-train'), 'SIGKILL'); // the cells of seed 1 wait for it
    await stack.json('experiment', 'start', 'storm', '--seeds', '1');
    await until(async () => (await cellsOf(id)).length > 0);
    expect(await stack.json('experiment', 'start', 'storm')).toMatchObject({ outcome: 'joined', seeds: 1 });
    expect(await stack.json('experiment', 'extend', 'storm', '--seeds', '2')).toMatchObject({ outcome: 'extended' });
    for (const role of ['worker-workflow', 'worker-store'] as const) process.kill(stack.pidOf(role), 'SIGKILL');
    await stack.json('up', '--unsupervised');
    await stack.json('experiment', 'pause', 'storm');
    expect(await status('storm')).toMatchObject({ status: 'paused' });
    await stack.client.workflow.getHandle('experiment/storm').terminate();
    expect(await status('storm')).toMatchObject({
      status: 'lost',
      problem: expect.stringContaining('experiment start'),
    });
    expect((await stack.cli('reconcile', '--all')).stderr).toContain('experiment storm: continues');
    expect(await status('storm')).toMatchObject({ status: 'paused' });
    await stack.json('experiment', 'resume', 'storm');
    expect(await end('storm')).toMatchObject({ status: 'finished', looks: [{ seeds: 1 }, { seeds: 2, finished: 4 }] });
    expect(await scoresHash(stack.pool, id)).toBe(calmHash);
  },
);

testOfAll(
  'an aborted campaign is a missing cell, which is played again when it was deleted; a running experiment takes up a new arm',
  async () => {
    const amended = twoArms({ name: 'gap', looks: [1], concurrency: 1 }, continued(1), continued(2));
    const id = await freeze({ ...amended, arms: amended.arms.slice(0, 1) });
    process.kill(stack.pidOf('worker-train'), 'SIGKILL'); // its activities wait
    await stack.json('experiment', 'start', 'gap');
    await until(async () => (await cellsOf(id)).length === 1);
    await stack.pool.query('update experiment_versions set resolved = $2 where experiment_id = $1', [id, amended]);
    expect(await stack.json('experiment', 'start', 'gap')).toMatchObject({ outcome: 'extended', seeds: 1 });
    await stack.json('experiment', 'stop', 'gap', '--arm', 'long');
    const aborted = stack.json('abort', 'gap-short-s1');
    await stack.json('up', '--unsupervised');
    await aborted;
    expect(await end('gap')).toMatchObject({
      status: 'stopped',
      cells: [{ status: 'missing', reason: expect.stringContaining('aborted') }, { status: 'waiting' }],
    });
    await stack.json('delete', 'gap-short-s1', '--yes');
    await stack.json('experiment', 'start', 'gap');
    expect(await end('gap')).toMatchObject({
      status: 'finished',
      cells: [{ status: 'finished' }, { status: 'finished' }],
    });
    for (const { checkpoints } of await cellsOf(id)) {
      const [before, after] = checkpoints!.map(({ effort }) => effort);
      expect(after!.updates.nominal).toBeGreaterThan(before!.updates.nominal);
      expect(after!.environmentAttempts.nominal).toBe(0);
    }
  },
);

test('a cell whose campaign is stored is running while its workflow is being started, and lost a minute later', async () => {
  const id = await freeze(experimentOf('opened', [1], 1));
  const store = createStore(stack.pool);
  const campaign = { name: 'opened-short-s1', recipe: 'sft', environment: 'intercode-sql', spec: base(1), seed: 1 };
  await store.campaigns.save({ ...campaign, specHash: 'hash' });
  await store.experimentCells.open({ experimentId: id, arm: 'short', seed: 1, campaign: campaign.name });
  expect((await status('opened')).cells[0]).toMatchObject({ status: 'running', reason: null });
  await stack.pool.query(
    `update experiment_cells set started_at = started_at - interval '1 minute' where experiment_id = $1::integer`,
    [id],
  );
  expect((await status('opened')).cells[0]).toMatchObject({
    status: 'lost',
    reason: expect.stringContaining('coevolve reconcile opened-short-s1'),
  });
});
