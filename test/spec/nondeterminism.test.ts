import { resolveSpec } from '../../src/spec/read-spec';
import { nondeterminismReasons } from '../../src/spec/nondeterminism';

const tiny = { name: 'tiny', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'combined' } as const;
const spec = (more: object = {}) => resolveSpec({ ...tiny, ...more }, 'tiny.yaml');
const here = { policyServer: 'small', replay: 'observations' } as const;

test('with the embedded servers and trainers two runs are one', () => {
  expect(nondeterminismReasons(spec(), here)).toEqual([]);
});

test.each([
  ['vLLM', {}, { ...here, policyServer: 'vllm' as const }, /^policy server: vLLM/],
  [
    'a policy server from elsewhere',
    {},
    { ...here, policyServer: 'other' as const },
    /^policy server: not started here/,
  ],
  ['GPUs', { compute: { gpus: 1 } }, here, /^compute: /],
  ['a cluster', { compute: { backend: 'kubernetes' } }, here, /^compute\.backend: /],
  [
    'an environment that is not replayed',
    {},
    { ...here, replay: 'score' as const },
    /^environment\.name: intercode-sql/,
  ],
])('%s is named as a reason why they may differ', (_what, more, serving, reason) => {
  expect(nondeterminismReasons(spec(more), serving)).toEqual([expect.stringMatching(reason)]);
});
