import { resolveSpec } from '../../src/specification/read-spec';
import { nondeterminismReasons } from '../../src/specification/nondeterminism';

const tiny = { name: 'tiny', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'combined' } as const;
const spec = (more: object = {}) => resolveSpec({ ...tiny, ...more }, 'tiny.yaml');
const here = { policyServer: 'small', replay: 'observations' } as const;

test('two runs with the embedded servers and trainers give the same result', () => {
  expect(nondeterminismReasons(spec(), here)).toEqual([]);
});

test.each([
  ['vLLM', {}, { ...here, policyServer: 'vllm' as const }, /^policy server: with vLLM/],
  [
    'a policy server at a configured address',
    {},
    { ...here, policyServer: 'other' as const },
    /^policy server: it was not started by `coevolve up`/,
  ],
  ['GPUs', { compute: { device: 'cuda' } }, here, /^compute: /],
  ['a cluster', { compute: { backend: 'kubernetes' } }, here, /^compute\.backend: /],
  [
    'an environment that is not replayed',
    {},
    { ...here, replay: 'score' as const },
    /^environment\.name: intercode-sql/,
  ],
])('%s is a reason why two runs may differ', (_title, more, serving, reason) => {
  expect(nondeterminismReasons(spec(more), serving)).toEqual([expect.stringMatching(reason)]);
});

test.each([
  ['GPUs', { device: 'cuda' }],
  ['a priced machine', { pricePerGpuHour: 1 }],
  ['a cluster', { backend: 'kubernetes' }],
])('policies of %s cannot be used again by other campaigns', (_title, compute) => {
  expect(() => spec({ compute: { ...compute, reuse: true } })).toThrow(
    /compute\.reuse: found true, expected false: compute/,
  );
});
