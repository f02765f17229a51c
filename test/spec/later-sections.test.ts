import { withSectionsOfLater } from '../../src/spec/later-sections';
import { resolveSpec } from '../../src/spec/read-spec';

const spec = resolveSpec(
  { name: 'old', seed: 1, environment: { name: 'intercode-sql' }, recipe: 'combined' },
  'old.yaml',
);

test('a spec that was stored before there were compute and start does what it did', () => {
  const { rft, ...training } = spec.training;
  const { compute, start, ...stored } = { ...spec, training, policy: { source: 'scratch' } } as typeof spec;
  expect([compute.backend, start, rft.successReward]).toEqual(['local', 'sft', 1]);
  expect(withSectionsOfLater(stored as typeof spec)).toEqual(spec);
});

test('a spec of today comes back as it is', () => {
  const { policy, compute } = { policy: { source: 'imported', model: 'small', adapter: {} }, compute: { threads: 2 } };
  const today = resolveSpec({ ...spec, policy, compute }, 'today.yaml');
  expect(withSectionsOfLater(today)).toEqual(today);
});
