import { deriveSeed } from '../../../src/domain/random/seed-tree';
import { iterationSeed } from '../../../src/domain/campaign/iteration-seed';
import { resolveSpec } from '../../../src/specification/read-spec';

const base = { name: 'a', seed: 7, environment: { name: 'intercode-sql' }, recipe: 'eto' };

test('replicas share the seeds of the start and no seed of a later iteration', () => {
  const [original, first, second] = [0, 1, 2].map((replica) => resolveSpec({ ...base, replica }, 'a test'));
  const seedsOf = (iteration: number) =>
    [original!, first!, second!].map((spec) => iterationSeed(spec, iteration, 'train', 'target'));
  expect(new Set(seedsOf(0)).size).toBe(1);
  expect(new Set(seedsOf(1)).size).toBe(3);
});

test('a campaign that is no replica has the seeds of the plain seed tree', () => {
  expect(iterationSeed(resolveSpec(base, 'a test'), 2, 'plan')).toBe(deriveSeed(7, 2, 'plan'));
});

test('a replica of a campaign without iterations is rejected', () => {
  expect(() => resolveSpec({ ...base, iterations: 0, replica: 1 }, 'a test')).toThrow(
    'replica: found 1, expected 0: nothing is sampled after the start',
  );
});
