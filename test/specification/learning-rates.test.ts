import { resolveSpec } from '../../src/specification/read-spec';

const required = { name: 'rates', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'co-evolving-agents' };
const specOf = (policy: object, training: object = {}) => resolveSpec({ ...required, policy, training }, 'rates.yaml');
const imported = { source: 'imported', model: 'm' };

test.each([
  ['the embedded policy', {}, { sft: [0.003, 14], dpo: 1e-4, target: 1e-4 }],
  ['an imported model', imported, { sft: [2e-5, 3], dpo: 1e-6, target: 1e-6 }],
  ['an adapter', { ...imported, adapter: {} }, { sft: [2e-4, 3], dpo: 1e-5, target: 1e-5 }],
] as const)('the default rates and epochs of %s fit its size', (_name, policy, expected) => {
  const { sft, dpo, target } = specOf(policy).training;
  expect({ sft: [sft.learningRate, sft.epochs], dpo: dpo.learningRate, target: target.learningRate }).toEqual(expected);
});

test.each(['sft', 'dpo', 'target'])(
  'a rate with which AdamW overwrites a policy from scratch is refused: %s',
  (method) => {
    for (const rate of [0.11, 1, 100])
      expect(() => specOf({}, { [method]: { learningRate: rate } })).toThrow(
        `training.${method}.learningRate: found ${rate}, expected at most 0.1 for AdamW on a policy from scratch`,
      );
    expect(() => specOf({}, { [method]: { learningRate: 0.1 } })).not.toThrow();
  },
);

test('values of the spec replace the defaults of an imported model', () => {
  const { sft } = specOf(imported, { sft: { learningRate: 1e-3 } }).training;
  expect(sft).toMatchObject({ learningRate: 1e-3, epochs: 3 });
});

test('a rate that would destroy a model of 7 B is refused, also in a schedule; a small model may have a higher one', () => {
  const large = { ...imported, parameters: 7e9 };
  const byIteration = [{ learningRate: 1e-6 }, { learningRate: 0.002 }];
  expect(() => specOf(large, { sft: { learningRate: 0.003 }, dpo: { byIteration } })).toThrow(
    new RegExp(
      'training\\.sft\\.learningRate: found 0\\.003, expected at most 0\\.0001 for a model of 7,000,000,000 parameters' +
        '[^]*training\\.dpo\\.byIteration\\.1\\.learningRate: found 0\\.002',
    ),
  );
  expect(() => specOf({ ...large, adapter: {} }, { sft: { learningRate: 0.003 } })).toThrow('at most 0.001');
  expect(() => specOf({ ...large, adapter: {} }, { sft: { learningRate: 0.0005 } })).not.toThrow();
  expect(() => specOf({ ...imported, adapter: {} }, { sft: { learningRate: 0.003 } })).not.toThrow();
});
