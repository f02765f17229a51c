import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freezeExperiment } from '../../../src/client/experiments/freeze-experiment';
import { readFrozen, readTable } from '../../../src/client/experiments/read-table';
import { experimentHash } from '../../../src/specification/experiment/same-experiment';
import { withConnections, type Connections } from '../../../src/client/connections';
import type { Config } from '../../../src/config';
import { loadExperiment } from '../../../src/specification/experiment/read-experiment';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { insertFrozen, ofEarlierRelease } from '../../support/frozen-experiment';
import { environmentConfig, startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';

const smoke = path.resolve(__dirname, '../../../examples/experiments/smoke.yaml');
let home: string;
let config: Config;
let server: EnvironmentServer;
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
  home = mkdtempSync(path.join(tmpdir(), 'coevolve-freeze-'));
  server = await startEnvironmentServer('--environments', 'intercode-sql', '--state', path.join(home, 'state'));
  config = environmentConfig(server, home, { DATABASE_URL: database.url });
});
afterAll(async () => {
  await server.kill();
  await database.drop();
  rmSync(home, { recursive: true, force: true });
});

const connected = <T>(work: (connections: Connections) => Promise<T>): Promise<T> => withConnections(work, config);

test('freezing stores the content and its versions, and freezing it again changes nothing', async () => {
  const loaded = await loadExperiment(smoke);
  const [first, again] = await connected(async (connections) => [
    await freezeExperiment(connections, loaded),
    await freezeExperiment(connections, loaded),
  ]);
  expect(first).toMatchObject({
    outcome: 'frozen',
    version: 1,
    resolved: loaded.experiment,
    source: loaded.source,
    manifest: {
      analysisVersion: 3,
      code: { node: process.version, locks: { 'package-lock.json': expect.stringMatching(/^[0-9a-f]{64}$/) } },
      environments: [{ name: 'intercode-sql', taskHash: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    },
  });
  expect(again).toMatchObject({ outcome: 'unchanged', version: 1, hash: first.hash });
});

test('after an upgrade that added keys to specs the file is unchanged, and a change names none of them', async () => {
  const loaded = await loadExperiment(smoke);
  const named = { ...loaded.experiment, name: 'upgraded' };
  await connected(async (connections) => {
    await insertFrozen(connections.pool, ofEarlierRelease(named));
    const again = await freezeExperiment(connections, { ...loaded, experiment: named });
    expect(again).toMatchObject({ outcome: 'unchanged', version: 1 });
    const amended = await freezeExperiment(connections, { ...loaded, experiment: { ...named, question: 'Another?' } });
    expect(amended.differences).toMatchObject([{ key: 'question' }]);
  });
});

test('a changed file is an amendment with its differences, and needs --amend once cells have begun', async () => {
  const { experiment, ...file } = await loadExperiment(smoke);
  const named = { ...experiment, name: 'amended' };
  const changed = { ...file, experiment: { ...named, question: 'Another?' } };
  await connected(async (connections) => {
    const { id } = await freezeExperiment(connections, { ...file, experiment: named });
    await connections.pool.query(
      `insert into experiment_cells (experiment_id, arm, seed, campaign, version) values ($1, 'none', 1, 'a', 1)`,
      [id],
    );
    await expect(freezeExperiment(connections, changed)).rejects.toMatchObject({
      code: 'ExperimentFrozen',
      message: expect.stringContaining(
        'differs in question from the frozen version, under which 1 cells have begun; add --amend',
      ),
    });
    await expect(freezeExperiment(connections, changed, { amend: true })).resolves.toMatchObject({
      outcome: 'amended',
      version: 2,
      differences: [{ key: 'question', first: experiment.question, second: 'Another?' }],
    });
  });
});

test('a published table is frozen again under the hash that its page prints, with the defaults of its time', async () => {
  const published = path.resolve(__dirname, '../../../docs/experiments');
  for (const name of readdirSync(published).filter((each) => existsSync(path.join(published, each, 'README.md')))) {
    const { experiment } = await readFrozen(path.join(published, 'archives', `${name}.jsonl.br`));
    expect(readFileSync(path.join(published, name, 'README.md'), 'utf8')).toContain(experimentHash(experiment));
  }
  const table = path.join(published, 'archives', 'aa.jsonl.br');
  const { resolved, hash } = await connected(async (connections) =>
    freezeExperiment(connections, await readFrozen(table)),
  );
  expect(hash).toBe((await readTable(table)).hash);
  expect(experimentHash(resolved)).toBe(hash);
});
