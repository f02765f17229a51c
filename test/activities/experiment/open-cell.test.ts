import { execFileSync } from 'node:child_process';
import { cpus, hostname } from 'node:os';
import { createActivities } from '../../../src/activities';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import type { Experiment } from '../../../src/domain/experiment/experiment';
import { readConfig } from '../../../src/config';
import { playedOn } from '../../../src/process/played-on';
import { createStore, type Store } from '../../../src/store';
import { contentHash } from '../../../src/store/audit/content-hash';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { insertFrozen, twoArms } from '../../support/frozen-experiment';

let database: FreshDatabase;
let store: Store;
beforeAll(async () => {
  database = await freshDatabase();
  store = createStore(database.pool);
});
afterAll(() => database?.drop());

const { projectRoot } = readConfig();
const here = playedOn(projectRoot);

const base = { environment: { name: 'intercode-sql' }, recipe: 'combined', iterations: 1 };

/** Activities with a stored experiment; every analysis has this `conditionalPower`. */
type Found = { conditionalPower?: number | null; verdict?: string };

async function experimentWith(
  name: string,
  changes: Partial<Experiment> = {},
  { conditionalPower = null, verdict = 'inconclusive' }: Found = {},
) {
  const resolved = { ...twoArms({ name, looks: [1, 2], concurrency: 1 }, base, base), ...changes };
  const experimentId = await insertFrozen(database.pool, resolved);
  const analyze = (): Promise<unknown> =>
    Promise.resolve({ output: { conditionalPower, contrasts: [{ kind: 'primary', verdict }] } });
  const { openCell, closeCell } = createActivities({
    store,
    analyze,
    playedOn: () => here,
  } as Partial<Dependencies> as Dependencies).store;
  return {
    experimentId,
    open: (arm: string, seed = 1) => openCell({ experimentId, arm, seed, nondeterminism: [] }),
    close: (arm: string, seed = 1) => closeCell({ experimentId, arm, seed }),
    cell: (arm: string, seed = 1) => store.experimentCells.find(experimentId, { arm, seed }),
    async end(arm: string, status: 'finished' | 'stopped', seed = 1): Promise<void> {
      const { id } = await store.campaigns.getByName(`${name}-${arm}-s${seed}`);
      await store.campaigns.setStatus(id, status);
    },
  };
}

test('a cell is opened once, and its campaign has the spec of the arm', async () => {
  const { open, cell, close } = await experimentWith('twice');
  const opened = await open('short');
  expect(await open('short')).toEqual(opened);
  expect(opened).toMatchObject({ outcome: 'play', weight: 1, state: { name: 'twice-short-s1', recipe: 'combined' } });
  expect(await cell('short')).toMatchObject({ status: 'running', exploratory: false, campaignStatus: 'running' });
  expect(await close('short')).toBe('running');
});

test('a campaign that finished before is found, and is exploratory if it began before the freeze', async () => {
  const { open, end, close, cell, experimentId } = await experimentWith('early');
  await open('short');
  await end('short', 'finished');
  await database.pool.query('delete from experiment_cells where experiment_id = $1', [experimentId]);
  await database.pool.query('update experiment_versions set frozen_at = now() where experiment_id = $1', [
    experimentId,
  ]);
  expect(await open('short')).toEqual({ outcome: 'ended' });
  expect(await close('short')).toBe('finished');
  expect(await close('short')).toBe('finished');
  expect(await cell('short')).toMatchObject({ exploratory: true, leakedTasks: 0, manifest: { recipe: 'combined' } });
});

test('a finished cell records its machine, without a name of the host, and the code; its content hash does not', async () => {
  const { open, end, close, cell } = await experimentWith('placed');
  await open('short');
  await end('short', 'finished');
  await close('short');
  const { manifest, contentHash: stored } = (await cell('short'))!;
  const commit = execFileSync('git', ['-C', projectRoot, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  expect(manifest!.playedOn).toEqual({
    machine: expect.stringMatching(/^[0-9a-f]{16}$/),
    processor: cpus()[0]!.model.trim() || null,
    cores: cpus().length,
    commit,
    dirty: expect.any(Boolean),
  });
  expect(JSON.stringify(manifest)).not.toContain(hostname());
  await expect(playedOn(projectRoot)).resolves.toEqual(manifest!.playedOn);
  const { id } = await store.campaigns.getByName('placed-short-s1');
  expect((await contentHash(database.pool, id)).hash).toBe(stored);
});

test('outside of a git clone the commit is unknown', async () => {
  await expect(playedOn('/')).resolves.toMatchObject({ commit: null, dirty: null });
});

test('a cell goes on after an upgrade that added keys to specs', async () => {
  const { open, cell } = await experimentWith('upgraded');
  const opened = await open('short');
  await database.pool.query(
    `update campaigns set spec = spec - 'weight' #- '{training,sft,stopAtLoss}', spec_hash = 'of older keys'
     where name = 'upgraded-short-s1'`,
  );
  expect(await open('short')).toEqual(opened);
  expect(await cell('short')).toMatchObject({ status: 'running', reason: null });
});

test('a name that another campaign has makes the cell missing with the reason', async () => {
  const { open, cell } = await experimentWith('taken');
  const other = { name: 'taken-short-s1', recipe: 'sft', environment: 'bfcl', spec: {}, specHash: 'other', seed: 1 };
  await store.campaigns.save(other);
  expect(await open('short')).toEqual({ outcome: 'ended' });
  expect(await cell('short')).toMatchObject({ status: 'missing', reason: expect.stringContaining('is taken') });
});

test('a cell without the campaign that it matches is missing', async () => {
  const { arms } = twoArms({ name: 'matching', looks: [1], concurrency: 1 }, base, base);
  const { open, end, close, cell } = await experimentWith('matching', {
    arms: [arms[0]!, { ...arms[1]!, matches: 'short' }],
  });
  await open('short');
  await end('short', 'stopped');
  expect(await close('short')).toBe('missing');
  expect(await open('long')).toEqual({ outcome: 'ended' });
  expect(await cell('long')).toMatchObject({ status: 'missing', reason: expect.stringContaining('matching-short-s1') });
});

test('no cell starts beyond the limits of dollars and hours; one that has begun continues', async () => {
  const stopping = { futility: null, usd: 0, hours: null };
  const dollars = await experimentWith('poor', { stopping });
  expect(await dollars.open('short')).toMatchObject({
    outcome: 'limit',
    reason: expect.stringContaining('the limit is $0'),
  });
  expect(await dollars.cell('short')).toBeUndefined();
  const hours = await experimentWith('late', { stopping: { ...stopping, usd: null, hours: 0 } });
  expect(await hours.open('short')).toMatchObject({
    outcome: 'limit',
    reason: expect.stringContaining('stopping.hours'),
  });
});

test.each([
  ['better', { outcome: 'limit', reason: expect.stringContaining('the verdict of long - short is better') }],
  ['equivalent', { outcome: 'limit', reason: expect.stringContaining('the verdict of long - short is equivalent') }],
  ['inconclusive', { outcome: 'play' }],
  ['invalid', { outcome: 'play' }],
])(
  'with the verdict %s at a first look that may decide the second look has the outcome %p',
  async (verdict, expected) => {
    const stopping = { futility: null, decided: true as const, usd: null, hours: null };
    const { open, end, close } = await experimentWith(`decided-${verdict}`, { stopping }, { verdict });
    for (const arm of ['short', 'long']) {
      await open(arm);
      await end(arm, 'finished');
      await close(arm);
    }
    expect(await open('short', 2)).toMatchObject(expected);
  },
);

test.each([
  [0.05, { outcome: 'limit', reason: expect.stringContaining('conditional power of long - short is 0.050') }],
  [0.3, { outcome: 'play' }],
  [null, { outcome: 'play' }],
])('with a conditional power of %p at the first look the second look has the outcome %p', async (power, expected) => {
  const stopping = { futility: 0.1, usd: null, hours: null };
  const { open, end, close } = await experimentWith(
    `futile-${String(power).replace('.', '')}`,
    { stopping },
    { conditionalPower: power },
  );
  for (const arm of ['short', 'long']) {
    expect(await open(arm)).toMatchObject({ outcome: 'play' });
    await end(arm, 'finished');
    await close(arm);
  }
  expect(await open('short', 2)).toMatchObject(expected);
});
