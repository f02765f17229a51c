import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { checkDevices } from '../../src/client/check-devices';
import { dryRun } from '../../src/client/check-spec';
import { groupBy } from '../../src/domain/group-by';
import { readConfig } from '../../src/config';
import { estimate } from '../../src/specification/estimate';
import { trainsPolicies } from '../../src/specification/estimate-training';
import { readSpecFile } from '../../src/specification/read-spec-file';
import { importSizes, modelSizes } from '../support/models/imported-sizes';
import { trainerSettings } from '../../src/specification/trainer-settings';

const root = path.resolve(__dirname, '../..');
const folder = path.join(root, 'examples/papers');
const rows = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /^[^/]+\/(?!parts|toy)[^/]+\/[^/]+\.yaml$/.test(file),
);
const specOf = (row: string, overlays: string[] = []) => readSpecFile(path.join(folder, row), { overlays });
const page = readFileSync(path.join(root, 'docs/papers-presets.md'), 'utf8');

/** Home in which no stack was started. */
const home = mkdtempSync(path.join(tmpdir(), 'coevolve-presets-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: home });

test('there is a file for each row that only settings make', () => {
  const byFolder = groupBy(rows, (row) => path.dirname(row));
  expect(Object.fromEntries([...byFolder].map(([name, files]) => [name, files.length]))).toEqual({
    'coevolve/bfcl': 26,
    'coevolve/appworld': 18,
    'co-evolving-agents/webshop': 6,
    'co-evolving-agents/scienceworld': 5,
    'co-evolving-agents/intercode-sql': 5,
  });
});

test.each(rows)(
  'the preset %s names its row, and a dry run on a bare machine finds no problem and estimates it',
  async (row) => {
    const text = readFileSync(path.join(folder, row), 'utf8');
    expect(text).toMatch(
      /^# yaml-language-server: \$schema=\.\.\/\.\.\/\.\.\/campaign\.schema\.json\n# (Tables? \d|Section 5\.3)/,
    );
    const spec = await specOf(row);
    const prefix = row.startsWith('coevolve/') ? 'coevolve' : 'agents';
    const [, environment, file] = row.split('/') as [string, string, string];
    expect(spec.name).toBe(`${prefix}-${environment}-${path.basename(file, '.yaml').replaceAll('.', '-')}`);
    expect(page).toMatch(new RegExp(`\`(${file}|${file.replace(/^qwen.*-\d+b(-a3b)?(?=-)/, '<model>')})\``));
    const { problems, unchecked } = await dryRun(config, spec);
    expect(problems).toEqual([]);
    expect(unchecked.join('\n')).toMatch(/environment server[^]*|policy\.model: found/);
    const { training, attempts } = estimate(spec);
    expect(attempts).toBeGreaterThan(0);
    expect(training.tokens > 0).toBe(trainsPolicies(spec));
  },
);

test.each(rows)('the preset %s has a toy size', async (row) => {
  const toy = path.join(folder, path.dirname(path.dirname(row)), 'toy');
  const spec = await specOf(row);
  const small = await specOf(
    row,
    overlaysOf(row, spec.recipe).map((name) => path.join(toy, name)),
  );
  expect(small).toMatchObject({
    name: spec.name,
    recipe: spec.recipe,
    policy: { source: 'scratch' },
    compute: { device: 'cpu' },
    iterations: Math.min(1, spec.iterations),
    signals: spec.signals,
    pairs: spec.pairs,
  });
  expect((await dryRun(config, small)).problems).toEqual([]);
  expect(estimate(small).attempts).toBeLessThan(100);
});

describe('on eight GPUs with 80 GiB and vLLM', () => {
  const env = { COEVOLVE_DEVICES: '8x80GiB', COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_POLICY_CONTEXT: '25600' };
  const bare = readConfig({ COEVOLVE_HOME: home, ...env });
  const equipped = readConfig({ COEVOLVE_HOME: path.join(home, 'equipped'), ...env });
  const artifacts = artifactStore(equipped.artifacts);
  beforeAll(async () => {
    for (const [name, sizes] of Object.entries(modelSizes)) await importSizes(artifacts, name, sizes);
  });

  test.each(rows)('the jobs and the policy of %s fit, with and without its model', async (row) => {
    const spec = await specOf(row);
    const before = await checkDevices(bare, artifactStore(bare.artifacts), spec);
    const imported = await checkDevices(equipped, artifacts, spec);
    expect([...before.problems, ...imported.problems, ...imported.unchecked]).toEqual([]);
    expect(before.unchecked).toEqual([expect.stringMatching(/^compute: the memory of activations/)]);
    const jobs = imported.needs.filter((need) => need.endsWith(' on each of 8 of 8 devices with 80.0 GiB'));
    expect(jobs.length > 0).toBe(!row.endsWith('zero-shot.yaml'));
    expect(imported.needs.at(-1)).toMatch(/^policy server: .* full contexts fit$/);
  });
});

test.each(['webshop', 'scienceworld', 'intercode-sql'])(
  "both methods of pairs on %s have ETO's rate and beta: one of iteration 1, one of later iterations",
  async (environment) => {
    for (const [row, methods] of [
      ['eto', ['dpo']],
      ['co-evolving-agents', ['dpo', 'target']],
    ] as const) {
      const spec = await specOf(`co-evolving-agents/${environment}/${row}.yaml`);
      for (const method of methods)
        expect([1, 2, 3].map((iteration) => trainerSettings(spec, method, iteration))).toMatchObject([
          { learning_rate: 1e-6, beta: 0.1, epochs: 3 },
          ...[2, 3].map(() => ({ learning_rate: 5e-7, beta: 0.5, epochs: 3 })),
        ]);
    }
  },
);

/** Toy files of a row, as docs/papers-presets.md has them. */
function overlaysOf(row: string, recipe: string): string[] {
  const environment = `${path.basename(path.dirname(row))}.yaml`;
  if (recipe === 'sft' || row.endsWith('zero-shot.yaml')) return [environment];
  return [environment, ['coevolve', 'ppo'].includes(recipe) ? 'steps.yaml' : 'iteration.yaml'];
}
