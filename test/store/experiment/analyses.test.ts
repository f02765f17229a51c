import { createStore, type Store } from '../../../src/store';
import type { AnalysisOutput } from '../../../src/statistics/analysis-output';
import { freshDatabase, type FreshDatabase } from '../../support/database';

let database: FreshDatabase;
let store: Store;
let experimentId: number;
beforeAll(async () => {
  database = await freshDatabase();
  store = createStore(database.pool);
  const { rows } = await database.pool.query<{ id: number }>(
    "insert into experiments (name) values ('tiny') returning id",
  );
  experimentId = rows[0]!.id;
});
afterAll(() => database.drop());

const output: AnalysisOutput = {
  version: 1,
  look: 2,
  arms: [],
  contrasts: [],
  level: 0.05,
  broken: [],
  replicas: [],
  alike: [],
  effort: [],
  ordering: null,
  breakdown: [],
  curves: [],
  power: [],
  conditionalPower: null,
  wonAndLost: [],
};
const analysis = (changes: object = {}) => ({
  experimentId,
  inputHash: 'a'.repeat(64),
  look: 2,
  exploratory: false,
  output,
  ...changes,
});

test('the first of two analyses of the same input is kept, and both callers get it', async () => {
  const first = await store.analyses.save(analysis());
  const second = await store.analyses.save(analysis({ exploratory: true, output: { ...output, look: 3 } }));
  expect(first).toEqual(analysis());
  expect(second).toEqual(first);
  await expect(store.analyses.find(experimentId, 'a'.repeat(64))).resolves.toEqual(first);
});

test('an input that was never analysed is not found', async () => {
  await expect(store.analyses.find(experimentId, 'b'.repeat(64))).resolves.toBeUndefined();
});

test('every look at the scores is listed, the oldest first', async () => {
  await store.analyses.save(analysis({ inputHash: 'c'.repeat(64), look: 4, exploratory: true }));
  const listed = await store.analyses.list(experimentId);
  expect(listed.map(({ inputHash, look }) => [inputHash[0], look])).toEqual([
    ['a', 2],
    ['c', 4],
  ]);
});
