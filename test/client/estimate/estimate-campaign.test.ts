import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { estimateCampaign, type KnownSpeeds } from '../../../src/client/estimate/estimate-campaign';
import { readConfig } from '../../../src/config';
import { resolveSpec } from '../../../src/specification/read-spec';

/** A model of 7 billion parameters that is not imported here. */
const policy = { source: 'imported', model: 'seven', parameters: 7e9, adapter: {} };
const specOf = (compute: object) =>
  resolveSpec({ name: 'e', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'sft', policy, compute }, 'e.yaml');

async function basisOf(devices: string, compute: object = {}): Promise<string> {
  const config = readConfig({ COEVOLVE_DEVICES: devices, COEVOLVE_HOME: '/nowhere' });
  const { training } = await estimateCampaign(config, specOf(compute));
  return training.assumptions;
}

test('without an earlier job and a probe the speed is unknown, and the estimate names the next command', async () => {
  const started =
    'speed unknown (known after the first iteration of a campaign with this policy here: `coevolve start`)';
  const absent = 'speed unknown (known after `coevolve model import <source> --name seven`)';
  expect(await basisOf('8x80GiB')).toContain(started);
  expect(await basisOf('none', { device: 'cuda' })).toContain(started);
  expect(await basisOf('8x80GiB', { backend: 'kubernetes' })).toContain(started); // on other machines
  expect(await basisOf('none')).toContain(absent);
  expect(await basisOf('8x80GiB', { device: 'cpu' })).toContain(absent);
});

test('where no server plays an environment, the estimate takes the lengths that were recorded for it', async () => {
  const config = readConfig({ COEVOLVE_DEVICES: 'none', COEVOLVE_HOME: '/nowhere' });
  const assumed = async (name: string) =>
    (await estimateCampaign(config, { ...specOf({}), environment: { ...specOf({}).environment, name } })).training
      .assumptions;
  expect(await assumed('scienceworld')).toMatch(/ 1[34]\d\d tokens a trajectory \(20 .*, recorded, because/);
  expect(await assumed('somewhere-else')).toContain('105 tokens a trajectory (that of short SQL tasks');
});

test('a plan whose first arm trains nothing still probes for the others', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'coevolve-estimate-'));
  const config = readConfig({ COEVOLVE_DEVICES: 'none', COEVOLVE_HOME: home, COEVOLVE_PYTHON: `${home}/python` });
  const file = artifactStore(config.artifacts).modelPath(policy.model);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ name: policy.model, policyId: 'a'.repeat(64), parameters: 7e9 }));
  const known: KnownSpeeds = new Map();
  const basis = async (changes: object) =>
    (await estimateCampaign(config, { ...specOf({}), ...changes }, known)).training.assumptions;
  expect(await basis({ start: 'base', iterations: 0 })).not.toContain('a probe failed');
  expect(await basis({})).toContain(`a probe failed: no Python at ${home}/python`);
  rmSync(home, { recursive: true });
});
