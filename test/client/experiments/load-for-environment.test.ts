import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freezeExperiment } from '../../../src/client/experiments/freeze-experiment';
import { loadForEnvironment } from '../../../src/client/experiments/load-for-environment';
import { withConnections } from '../../../src/client/connections';
import type { Config } from '../../../src/config';
import { loadExperiment } from '../../../src/specification/experiment/read-experiment';
import { experimentHash } from '../../../src/specification/experiment/same-experiment';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { environmentConfig, startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';

const published = path.resolve(__dirname, '../../../examples/experiments');
const home = mkdtempSync(path.join(tmpdir(), 'coevolve-arms-'));
let server: EnvironmentServer;
let database: FreshDatabase;
let config: Config;
beforeAll(async () => {
  database = await freshDatabase();
  server = await startEnvironmentServer('--environments', 'intercode-sql,bfcl,warehouse');
  config = environmentConfig(server, home, { DATABASE_URL: database.url });
});
afterAll(async () => {
  await server.kill();
  await database.drop();
  rmSync(home, { recursive: true, force: true });
});

const load = async (file: string, own: Config = config) => {
  const lines: string[] = [];
  const onChosen = (_: string, { path: keys, value }: { path: readonly string[]; value: unknown }) =>
    lines.push(`${keys.join('.')}: ${String(value)}`);
  const loaded = await loadForEnvironment(own, file, { onChosen });
  return { ...loaded, lines };
};

/** Two arms that leave out every size. */
function fileOf(name: string, environment: string, base: object = {}): string {
  const file = path.join(home, `${name}.yaml`);
  const content = {
    name,
    seed: 5,
    question: 'Do pairs help?',
    base: { environment: { name: environment }, recipe: 'eto', ...base },
    arms: { pairs: {}, none: { set: { recipe: 'sft-continued' } } },
    seeds: 2,
    match: { equal: ['environmentAttempts'] },
    analysis: { primary: { contrast: 'pairs - none' }, equivalence: { margin: 0.05 } },
  };
  writeFileSync(file, JSON.stringify(content)); // JSON is YAML
  return file;
}

test.each(readdirSync(published).filter((name) => name.endsWith('.yaml')))(
  '%s is frozen under the same hash whether its environment is asked or not',
  async (name) => {
    const file = path.join(published, name);
    const { experiment, lines } = await load(file);
    expect(experimentHash(experiment)).toBe(experimentHash((await loadExperiment(file)).experiment));
    expect(lines).toEqual([]);
  },
  60_000,
);

test('arms that leave out sizes have those of their environment, each printed once, and no difference from the base', async () => {
  const { experiment, lines } = await load(fileOf('sizes', 'bfcl'));
  expect(lines).toEqual([
    'environment.trainTasks: 100',
    'environment.heldOutTasks: 60',
    expect.stringMatching(/^training\.init\.maxPositions: \d{5}$/),
    expect.stringMatching(/^rollouts\.maxTokens: \d{3}$/),
  ]);
  for (const { spec } of experiment.arms)
    expect(spec).toMatchObject({ environment: { trainTasks: 100, heldOutTasks: 60 } });
  const differences = experiment.arms.map((arm) => arm.differences.map(({ key }) => key));
  expect(differences[0]).toEqual([]);
  expect(differences[1]).toContain('recipe');
  expect(differences.flat().filter((key) => /Tasks|max/.test(key))).toEqual([]);
});

test('the settings that an environment declares for first campaigns are no defaults of arms', async () => {
  const { experiment, lines } = await load(fileOf('methods', 'warehouse'));
  expect(lines).toEqual(['environment.trainTasks: 2000', 'environment.heldOutTasks: 400']);
  const general = (await loadExperiment(fileOf('methods', 'warehouse'))).experiment.arms;
  expect(experiment.arms.map(({ spec }) => spec['training'])).toEqual(general.map(({ spec }) => spec['training']));
});

test('a frozen experiment keeps its sizes when the environment is gone, and what its file changes is a difference', async () => {
  const file = fileOf('kept', 'bfcl');
  const gone: Config = { ...config, environment: { ...config.environment, url: 'http://127.0.0.1:9' } };
  await withConnections(async (connections) => {
    const frozen = await freezeExperiment(connections, await load(file));
    const again = await load(file, gone);
    expect(again.lines).toEqual([]);
    expect(await freezeExperiment(connections, again)).toMatchObject({ outcome: 'unchanged', hash: frozen.hash });
    fileOf('kept', 'bfcl', { environment: { name: 'bfcl', trainTasks: 50 } });
    const amended = await freezeExperiment(connections, await load(file));
    expect(amended.differences).toMatchObject([
      { key: 'arms.none.spec.environment.trainTasks', first: 100, second: 50 },
      { key: 'arms.pairs.spec.environment.trainTasks', first: 100, second: 50 },
    ]);
  }, config);
});
