import { scratchShape, servingMemory, trainingMemory, type ModelShape } from '../../src/specification/device-memory';
import { readSpec, resolveSpec } from '../../src/specification/read-spec';

/** Llama 2 7B, from its config.json. */
const llama: ModelShape = {
  parameters: 6.738e9,
  layers: 32,
  hiddenSize: 4096,
  headsWidth: 4096,
  kvWidth: 4096,
  feedForwardSize: 11_008,
  vocabularySize: 32_000,
  positions: 4096,
};
const gib = 1024 ** 3;

/** Qwen3-0.6B, from its config.json. */
const qwen: ModelShape = {
  parameters: 5.96e8,
  layers: 28,
  hiddenSize: 1024,
  headsWidth: 2048,
  kvWidth: 1024,
  feedForwardSize: 3072,
  vocabularySize: 151_936,
  positions: 40_960,
};

type Settings = { policy?: object; compute?: object; recipe?: string; training?: object };

function needsOf(shape: ModelShape, { policy, compute, recipe = 'eto', training = {} }: Settings) {
  const source = { name: 'c', seed: 1, recipe, environment: { name: 'intercode-sql' }, training };
  const imported = { source: 'imported', model: 'llama', precision: 'bfloat16', ...policy };
  const spec = readSpec(
    JSON.stringify({ ...source, policy: imported, compute: { device: 'cuda', ...compute } }),
    'c.yaml',
  );
  return trainingMemory(spec, shape);
}

const needs = (policy: object, compute: object = {}, recipe = 'eto', training: object = {}) =>
  needsOf(llama, { policy, compute, recipe, training });

const inGib = (bytes: number): number => Math.round(bytes / gib);

test('all weights of a model of 7 billion need 16 bytes a weight: 112 GB before activations', () => {
  const [{ job, parts, bytes }] = needs({}) as [ReturnType<typeof needs>[0]];
  const states = parts['weights']! + parts['gradients']! + parts['optimizer']!;
  expect(job).toBe('sft, dpo');
  expect((states / llama.parameters) * 7).toBeCloseTo(112, 5);
  expect(inGib(bytes)).toBe(108);
});

test('an adapter over the same model in bfloat16 needs a fifth of it', () => {
  const [{ parts, bytes }] = needs({ adapter: { rank: 16 } }) as [ReturnType<typeof needs>[0]];
  // 39,976,960 weights of rank 16 on all linear layers, as peft counts them
  expect(parts['optimizer']).toBe(39_976_960 * 8);
  expect(parts['weights']).toBe(llama.parameters * 2 + 39_976_960 * 4);
  expect(inGib(bytes)).toBe(21);
});

test('without a precision a GPU computes in bfloat16', () => {
  expect(needs({ adapter: {}, precision: 'auto' })).toEqual(needs({ adapter: {} }));
});

test.each([
  ['an adapter', { adapter: {} }, 13.34],
  ['all weights', {}, 20.93], // with the kernels of Liger, which keep less
])('the estimate for %s is at most a fifth above the peak that torch counted on an H100', (_, policy, measuredGib) => {
  const training = { sft: { microBatchTokens: 6533 } }; // one row
  const compute = { gradientCheckpointing: 'off' };
  const { parts, bytes } = needsOf(qwen, { policy, compute, recipe: 'sft', training })[0]!;
  const tensors = bytes - parts['context']!;
  expect(tensors / (measuredGib * gib)).toBeGreaterThan(1);
  expect(tensors / (measuredGib * gib)).toBeLessThan(1.2);
});

test('sharding divides weights and states by the processes, and copies of the model do not', () => {
  const sharded = needs({}, { processes: 8, sharding: 'fsdp' })[0]!;
  const copied = needs({}, { processes: 8, sharding: 'ddp' })[0]!;
  expect(sharded.parts['optimizer']).toBe((llama.parameters * 8) / 8);
  expect(inGib(sharded.bytes)).toBe(20);
  expect(copied.bytes).toBe(needs({})[0]!.bytes);
  const zero = needs({}, { processes: 8, sharding: 'deepspeed', engine: 'trl' })[0]!;
  expect(zero).toEqual(sharded); // ZeRO stage 3 divides the same
});

test('a row that is longer than a micro-batch is a pass of its own', () => {
  const [short, long] = [8192, 32_768].map((maxLength) => needs({}, {}, 'sft', { sft: { maxLength } })[0]!);
  expect(short).toEqual(needs({}, {}, 'sft')[0]);
  expect(long).toEqual(short); // Llama 2 has 4,096 positions
  const longContext = { ...llama, positions: 131_072 };
  const training = { sft: { maxLength: 32_768 } };
  const [stretched] = needsOf(longContext, { recipe: 'sft', training });
  expect(stretched!.parts['activations']).toBe(4 * short!.parts['activations']!);
});

test('reinforcement learning keeps the reference too, and activations grow with the tokens of a micro-batch', () => {
  const [supervised, rl] = needs({}, {}, 'grpo');
  expect(rl!.bytes - supervised!.bytes).toBe(llama.parameters * 4);
  const without = needs({}, { gradientCheckpointing: 'off' })[0]!;
  expect(inGib(without.parts['activations']!)).toBe(54);
  const [, longer] = needs({}, {}, 'grpo', { grpo: { microBatchTokens: 3 * 8192 } });
  expect(longer!.parts['activations']).toBe(3 * rl!.parts['activations']!);
});

test('a policy server needs two bytes a weight and the keys and values of a context', () => {
  const one = servingMemory(llama, { contextTokens: 8192, devices: 1, deviceBytes: 72 * gib });
  expect(one.parts['weights']).toBe(llama.parameters * 2);
  expect(one.parts['cache']).toBe(2 * gib); // half a MiB per token, 4,096 tokens of the model
  expect(one.contexts).toBe(28);
  const two = servingMemory(llama, { contextTokens: 8192, devices: 2, deviceBytes: 72 * gib });
  expect(two.parts['weights']).toBe(llama.parameters);
});

test('the parameter count of the embedded policy follows from its shape', () => {
  const spec = resolveSpec({ name: 'm', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'eto' }, 'm.yaml');
  // 768 x 96 embeddings; 3 layers of 2 x (4 + 2) heads of size 32 and 3 x 96 x 256 feed-forward weights
  expect(scratchShape(spec).parameters).toBe(768 * 96 + 3 * (2 * 96 * 6 * 32 + 3 * 96 * 256));
});
