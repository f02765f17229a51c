import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { checkDevices } from '../../src/client/check-devices';
import { readConfig } from '../../src/config';
import { checkDevices as doctorLines } from '../../src/doctor/check-machine';
import { readSpec } from '../../src/specification/read-spec';
import { deviceLeases } from '../../src/training/local/device-leases';
import { importSizes, modelSizes } from '../support/models/imported-sizes';

const home = mkdtempSync(path.join(tmpdir(), 'coevolve-fit-'));
const artifacts = artifactStore(path.join(home, 'artifacts'));

beforeAll(() => importSizes(artifacts, 'llama', modelSizes['llama-2-7b-chat']));
afterAll(() => rmSync(home, { recursive: true }));

const configWith = (env: Record<string, string>) => readConfig({ COEVOLVE_HOME: home, ...env });

function check(env: Record<string, string>, compute: object, policy: object = {}, training: object = {}) {
  const source = { name: 'c', seed: 1, recipe: 'eto', environment: { name: 'intercode-sql' }, compute, training };
  const imported = { source: 'imported', model: 'llama', precision: 'bfloat16', ...policy };
  const spec = readSpec(JSON.stringify({ ...source, policy: imported }), 'c.yaml');
  return checkDevices(configWith(env), artifacts, spec);
}

const messages = async (...given: Parameters<typeof check>) =>
  (await check(...given)).problems.map(({ message }) => message);

test('a job that does not fit on its device is refused with the numbers and the remedies', async () => {
  expect(await messages({ COEVOLVE_DEVICES: '8x80GiB' }, {})).toEqual([
    expect.stringMatching(
      /^compute: sft, dpo: 107\.\d GiB \(weights 25\.1 GiB, gradients 25\.1 GiB, optimizer 50\.2 GiB\), expected at most 76\.0 GiB of 80\.0 GiB; train an adapter .* or shard over more processes \(compute\.sharding: fsdp, compute\.processes\)$/,
    ),
  ]);
});

test('the same job fits as an adapter, and sharded over eight devices', async () => {
  expect(await messages({ COEVOLVE_DEVICES: '1x24GiB' }, {}, { adapter: {} })).toEqual([]);
  const sharded = await check({ COEVOLVE_DEVICES: '8x80GiB' }, { processes: 8, sharding: 'fsdp' });
  expect(sharded.problems).toEqual([]);
  expect(sharded.needs).toEqual([
    expect.stringMatching(/^sft, dpo: 20\.\d GiB .* on each of 8 of 8 devices with 80\.0 GiB$/),
  ]);
});

test('a job whose activations do not fit is told to shorten its passes, which sharding would not do', async () => {
  const training = { sft: { microBatchTokens: 300_000 } };
  const [problem] = await messages({ COEVOLVE_DEVICES: '1x24GiB' }, {}, { adapter: {} }, training);
  expect(problem).toMatch(/; lower training\.<method>\.microBatchTokens or maxLength, or shard over more processes/);
});

test('a policy server whose processes need more devices than there are is refused', async () => {
  const vllm = { COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_DEVICES: '1x80GiB', COEVOLVE_VLLM_DEVICES: '2' };
  await expect(messages(vllm, {}, { adapter: {} })).resolves.toEqual([
    'policy server: found 1 device in COEVOLVE_DEVICES, expected at least 2, those of one vLLM process (COEVOLVE_VLLM_DEVICES)',
  ]);
});

test('more processes than devices are refused', async () => {
  const problems = await messages({ COEVOLVE_DEVICES: '4x80GiB' }, { processes: 8, sharding: 'fsdp' });
  expect(problems).toEqual(['compute.processes: found 8, expected at most 4, the devices of COEVOLVE_DEVICES']);
});

test('a policy server whose weights leave no room for a context is refused', async () => {
  const vllm = { COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_DEVICES: '2x16GiB' };
  const sharded = { adapter: { rank: 16 }, precision: 'bfloat16' };
  const problems = await messages(vllm, { processes: 2, sharding: 'fsdp' }, sharded);
  expect(problems).toEqual([
    expect.stringMatching(/^policy server: 16\.\d GiB .*expected at most 14\.4 GiB of 16\.0 GiB/),
  ]);
  expect(await messages({ ...vllm, COEVOLVE_VLLM_DEVICES: '2' }, { processes: 2, sharding: 'fsdp' }, sharded)).toEqual(
    [],
  );
});

test('jobs on the CPU, and machines without devices, are not compared', async () => {
  const none = { problems: [], unchecked: [], needs: [] };
  expect(await check({ COEVOLVE_DEVICES: '1x8GiB' }, { device: 'cpu' })).toEqual(none);
  expect(await check({ COEVOLVE_DEVICES: 'none' }, {})).toEqual(none);
});

test('a model that is not imported is compared by the weights that follow from its parameter count', async () => {
  const other = { model: 'other' };
  const unknown = await check({ COEVOLVE_DEVICES: '1x8GiB' }, {}, other);
  expect(unknown).toEqual({
    problems: [],
    needs: [],
    unchecked: ['compute: the memory of jobs is known when the model is imported'],
  });
  const counted = await check({ COEVOLVE_DEVICES: '8x80GiB' }, {}, { ...other, parameters: 6.74e9 });
  expect(counted.problems).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/^compute: sft, dpo: 102\.4 GiB .*at most 76\.0 GiB/) }),
  ]);
  const vllm = { COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_DEVICES: '8x80GiB' };
  const adapted = await check(vllm, {}, { ...other, parameters: 6.74e9, adapter: {} });
  expect(adapted).toEqual({
    problems: [],
    needs: [
      expect.stringMatching(/^sft, dpo: 14\.6 GiB/),
      expect.stringMatching(/^policy server: 14\.6 GiB .* on each of 1$/),
    ],
    unchecked: [expect.stringMatching(/^compute: the memory of activations, .* is known when the model is imported$/)],
  });
  expect(await messages(vllm, {}, { ...other, parameters: 70e9, adapter: {} })).toHaveLength(2);
});

test('doctor lists the devices, the server that may use them, and the jobs that hold them or wait', async () => {
  const config = configWith({
    COEVOLVE_DEVICES: '2x80GiB',
    COEVOLVE_POLICY_SERVER: 'vllm',
    COEVOLVE_VLLM_PROCESSES: '1',
  });
  const leases = deviceLeases(path.join(home, 'devices'));
  const waiting = 'waits for 1 device, held by another';
  await leases.locked(() =>
    leases.save({ holder: 'job', job: path.join(home, 'job'), devices: [], since: 1, waiting }),
  );
  await expect(Promise.all(doctorLines(config))).resolves.toEqual([
    { name: 'devices', ok: true, detail: `2 with 80.0 GiB; vLLM may use 1; job ${waiting}` },
  ]);
  expect(doctorLines(configWith({ COEVOLVE_DEVICES: 'none' }))).toEqual([]);
  const few = configWith({ COEVOLVE_DEVICES: '2x80GiB', COEVOLVE_POLICY_SERVER: 'vllm', COEVOLVE_VLLM_DEVICES: '4' });
  await expect(Promise.all(doctorLines(few))).resolves.toMatchObject([
    { ok: false, detail: 'found 2 devices, expected at least 4, those of one vLLM process' },
  ]);
});
