import { measureSpeeds } from '../../../src/client/estimate/measure-speeds';
import { readConfig } from '../../../src/config';
import { estimate } from '../../../src/specification/estimate';
import { resolveSpec, specHash } from '../../../src/specification/read-spec';
import { createStore } from '../../../src/store';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { hash, trainingRun } from '../../store/support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const specOf = (changes: object = {}) =>
  resolveSpec(
    { name: 'speeds', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'rft', ...changes },
    'speeds.yaml',
  );
const config = readConfig({ COEVOLVE_DEVICES: 'none', PATH: process.env['PATH'] });

test('the speed of earlier jobs with the policy replaces a probe, and the estimate says so', async () => {
  const { pool, url } = database;
  const store = createStore(pool);
  const spec = specOf({ compute: { reuse: true, device: 'cpu' } });
  const { id } = await store.campaigns.save({
    name: 'earlier',
    recipe: 'rft',
    environment: 'intercode-sql',
    spec,
    specHash: specHash(spec),
    seed: 1,
  });
  const key = { campaignId: id, iteration: 0, epoch: await store.iterations.open(id, 0) };
  const job = { jobKey: 'earlier/job', epoch: key.epoch };
  await store.trainingRuns.save(key, trainingRun(job.jobKey), []);
  await store.trainingProgress.save(job, [{ step: 1, tokens_per_s: 1000 }]);
  await store.trainingRuns.succeed(job, hash('a'), { tokens: 9, seconds: 9 });

  const speeds = await measureSpeeds({ ...config, databaseUrl: url }, specOf({ recipe: 'eto' }), null);
  const unknown = expect.stringContaining('`coevolve start`') as string;
  const basis = 'median of 1 earlier jobs with this policy';
  expect(speeds).toEqual({ training: { rate: 1000, spread: 1.2, basis }, attempts: null, unknown });
  const { training, seconds, range, attemptSpeed } = estimate(specOf(), null, speeds);
  expect(training.assumptions).toContain(`1,000 tokens/s (${basis})`);
  expect(attemptSpeed).toBe('6.3 attempts/s (the time in which a job trains on 160 tokens)');
  expect(range!.low).toBeLessThan(seconds!);
  expect(range!.high).toBeGreaterThan(seconds!);
});

test.each([
  ['on a GPU', { compute: { device: 'cuda' } }],
  ['of a model that is not imported', { policy: { source: 'imported', model: 'absent' } }],
  ['without a training job', { recipe: 'sft', start: 'base', policy: { source: 'imported', model: 'absent' } }],
])('a campaign %s is not probed', async (_name, changes) => {
  const started = Date.now();
  await expect(measureSpeeds(config, specOf(changes), null)).resolves.toEqual({
    training: null,
    attempts: null,
    unknown: expect.stringContaining('known after') as string,
  });
  expect(Date.now() - started).toBeLessThan(1000);
});

test('a database that cannot be read counts as one without earlier jobs', async () => {
  const unreadable = { ...config, databaseUrl: 'postgres://127.0.0.1:9/none' };
  const speeds = await measureSpeeds(unreadable, specOf({ compute: { device: 'cuda' } }), null);
  expect(speeds.training).toBeNull();
});
