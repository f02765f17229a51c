import { readConfig } from '../../src/config';
import { createStore } from '../../src/store';
import { analyzeOnce, analysisKey, runStatistics } from '../../src/statistics/run-statistics';
import { planPower } from '../../src/statistics/plan-power';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { smallAnalysis } from './support/small-analysis';

const { python } = readConfig();
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('a long table becomes verdicts, and nothing that JSON lacks becomes a number', async () => {
  const output = await runStatistics({ python }, smallAnalysis());
  expect(output.contrasts).toMatchObject([
    { contrast: 'signals - random', kind: 'primary', seeds: 3, verdict: 'better' },
    { contrast: 'signals - none', kind: 'secondary', seeds: 0, verdict: 'invalid', p: null, difference: null },
  ]);
  expect(output.contrasts[1]!.reasons).toEqual(['cell none-s2 is missing: stopped']);
  expect(output.arms.map(({ arm, seeds, tasks }) => [arm, seeds, tasks])).toEqual([
    ['none', 2, 20],
    ['random', 3, 20],
    ['signals', 3, 20],
  ]);
  expect(output.arms[0]!.values.map(({ seed }) => seed)).toEqual([1, 3]);
});

test('the key of an analysis depends on its values, not on the order of keys', () => {
  const input = smallAnalysis();
  const reversed = Object.fromEntries(Object.entries(input).reverse()) as typeof input;
  expect(analysisKey(reversed)).toBe(analysisKey(input));
  expect(analysisKey({ ...input, margin: 0.03 })).not.toBe(analysisKey(input));
});

test('an unusable input is refused with its field, the value found and the value expected', async () => {
  await expect(runStatistics({ python }, { ...smallAnalysis(), metric: 'accuracy' })).rejects.toMatchObject({
    code: 'InvalidAnalysis',
    message: expect.stringMatching(/^metric: found 'accuracy', expected success, reward, /),
  });
});

test('a missing Python is an error with the next command', async () => {
  await expect(runStatistics({ python: '/nowhere/python' }, smallAnalysis())).rejects.toMatchObject({
    name: 'StackError',
    next: 'npm run setup',
  });
});

test('equal inputs are analysed once and give equal bytes', async () => {
  const { rows } = await database.pool.query<{ id: number }>(
    "insert into experiments (name) values ('small') returning id",
  );
  const services = { store: createStore(database.pool), python };
  const request = { experimentId: rows[0]!.id, input: smallAnalysis(), exploratory: false };
  const first = await analyzeOnce(services, request);
  const again = await analyzeOnce({ ...services, python: '/nowhere/python' }, request); // it runs no process
  expect(again).toEqual(first);
  expect(await runStatistics({ python }, request.input)).toEqual(first.output);
  await expect(services.store.analyses.list(request.experimentId)).resolves.toMatchObject([
    { inputHash: first.inputHash, look: 3, exploratory: false },
  ]);
});

test('an analysis that was stored before a statistic was added is made again', async () => {
  const { rows } = await database.pool.query<{ id: number }>(
    "insert into experiments (name) values ('older') returning id",
  );
  const store = createStore(database.pool);
  const request = { experimentId: rows[0]!.id, input: smallAnalysis(), exploratory: false };
  const today = await runStatistics({ python }, request.input);
  const contrasts = today.contrasts.map(({ seedsNeeded: _, ...older }) => older);
  const stored = { look: 3, exploratory: false, output: { ...today, contrasts } };
  await store.analyses.save({ ...request, inputHash: analysisKey(request.input), ...stored });
  expect((await analyzeOnce({ store, python }, request)).output).toEqual(today);
});

test('power is known before the first cell', async () => {
  const { level, deviations } = await planPower(
    { python },
    {
      alpha: 0.05,
      looks: [8],
      seeds: [5, 8, 16],
      differences: [0.02, 0.05],
      margin: 0.05,
      noise: { kind: 'prior', runSds: [0.025, 0.04], discordance: 0.24, tasks: 500 },
    },
  );
  expect(level).toBe(0.05);
  expect(deviations[0]!.sd).toBeCloseTo(0.0416, 4);
  expect(deviations[0]!.detectable.map(({ difference }) => difference!.toFixed(3))).toEqual([
    '0.070',
    '0.048',
    '0.031',
  ]);
  expect(deviations[0]!.equivalence.map(({ power }) => power.toFixed(2))).toEqual(['0.48', '0.84', '1.00']);
  expect(deviations.map(({ needed }) => needed.map(({ seeds }) => seeds))).toEqual([
    [36, 8],
    [75, 14],
  ]);
});
