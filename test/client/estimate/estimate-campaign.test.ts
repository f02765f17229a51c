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
  const { expected } = await estimateCampaign(config, specOf(compute));
  return expected.training.assumptions;
}

test('with device auto, jobs of an imported model are estimated for the devices of this installation, as they run there', async () => {
  expect(await basisOf('8x80GiB')).toContain('7000 M parameters on 1 H100 at 30 % utilisation');
  const eight = { processes: 8, sharding: 'fsdp' };
  expect(await basisOf('8x80GiB', eight)).toBe(await basisOf('none', { ...eight, device: 'cuda' }));
  expect(await basisOf('none')).toContain('7000 M parameters on a CPU');
  expect(await basisOf('8x80GiB', { device: 'cpu' })).toContain('7000 M parameters on a CPU');
  expect(await basisOf('8x80GiB', { backend: 'kubernetes' })).toContain('on a CPU'); // on other machines
});

test('a plan whose first arm trains nothing still probes for the others', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'coevolve-estimate-'));
  const config = readConfig({ COEVOLVE_DEVICES: 'none', COEVOLVE_HOME: home, COEVOLVE_PYTHON: `${home}/python` });
  const file = artifactStore(config.artifacts).modelPath(policy.model);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ name: policy.model, policyId: 'a'.repeat(64), parameters: 7e9 }));
  const known: KnownSpeeds = new Map();
  const problemOf = async (changes: object) =>
    (await estimateCampaign(config, { ...specOf({}), ...changes }, known)).problem;
  expect(await problemOf({ start: 'base', iterations: 0 })).toBeNull();
  expect(await problemOf({})).toContain(`no Python at ${home}/python`);
  rmSync(home, { recursive: true });
});
