import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { dryRun } from '../../src/client/check-spec';
import { readConfig } from '../../src/config';
import { resolveSpec } from '../../src/specification/read-spec';
import { importSizes, modelSizes } from '../support/models/imported-sizes';

const home = mkdtempSync(path.join(tmpdir(), 'coevolve-rates-'));
const config = readConfig({ COEVOLVE_HOME: home });

beforeAll(() => importSizes(artifactStore(config.artifacts), 'llama', modelSizes['llama-2-7b-chat']));
afterAll(() => rmSync(home, { recursive: true }));

test.each([
  [
    0.0005,
    ['training.sft.learningRate: found 0.0005, expected at most 0.0001 for a model of 6,738,000,000 parameters'],
  ],
  [0.00005, []],
])('the size of an imported model decides about a learning rate of %s', async (learningRate, expected) => {
  const spec = resolveSpec(
    {
      name: 'c',
      seed: 1,
      recipe: 'sft',
      environment: { name: 'intercode-sql' },
      policy: { source: 'imported', model: 'llama' },
      training: { sft: { learningRate } },
    },
    'c.yaml',
  );
  const { problems } = await dryRun(config, spec);
  expect(problems.map(({ message }) => message)).toEqual(expected);
});
