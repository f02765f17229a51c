import * as fc from 'fast-check';
import { enrichmentOf, type PlayedTask, type RegionTask } from '../../../src/domain/signals/enrichment';
import { mean } from '../../../src/domain/evaluation/statistics';
import { createRandom } from '../../../src/domain/random/seeded-random';

const clusters = ['a', 'b', 'c', 'd'];

/** 80 played tasks, 20 a cluster; `chance` is that of a flag. */
function played(chance: (cluster: string) => number, seed: number): PlayedTask[] {
  const random = createRandom(seed);
  return Array.from({ length: 80 }, (_, n) => {
    const cluster = clusters[n % 4]!;
    return { id: `${n}`, cluster, isFlagged: random.next() < chance(cluster) };
  });
}

/** The steps of two variants a flagged task, where `related` names the cluster of a variant. */
function steps(tasks: readonly PlayedTask[], related: (cluster: string, n: number) => string) {
  const parents = tasks.filter(({ isFlagged }) => isFlagged).map(({ id, cluster }) => ({ cluster, source: id }));
  const candidates: RegionTask[] = parents.flatMap(({ cluster, source }, n) =>
    [0, 1].map((k) => ({ cluster: related(cluster, 2 * n + k), source })),
  );
  return { parents, candidates, admitted: candidates.filter((_, n) => n % 2 === 0) };
}

const inRegion = (cluster: string) => (cluster === 'a' ? 0.8 : 0.1);
const same = (cluster: string) => cluster;
const indifferent = (_: string, n: number) => clusters[n % 4]!;
const inverted = (cluster: string) => (cluster === 'a' ? 'b' : 'c');

test.each([1, 2, 3, 4, 5])(
  'flags in a region and variants that stay there are enriched at each step (seed %i)',
  (seed) => {
    const tasks = played(inRegion, seed);
    const found = enrichmentOf(tasks, steps(tasks, same));
    for (const { ratio } of [found.parents, found.candidates, found.admitted]) expect(ratio).toBeGreaterThan(1.5);
    expect(found.candidates.tasks).toBe(2 * found.parents.tasks);
    const random = enrichmentOf(tasks, steps(tasks, indifferent));
    expect(random.candidates.ratio).toBeGreaterThan(0.8);
    expect(random.candidates.ratio).toBeLessThan(1.2);
    expect(enrichmentOf(tasks, steps(tasks, inverted)).candidates.ratio).toBeLessThan(0.6);
  },
);

test('flags that fall by chance mark no region: 1 on average, whatever the number of tasks in a cluster', () => {
  for (const chance of [0.1, 0.5]) {
    const ratios = Array.from({ length: 200 }, (_, seed) => {
      const tasks = played(() => chance, seed);
      return enrichmentOf(tasks, steps(tasks, same)).parents.ratio!;
    });
    expect(mean(ratios)).toBeGreaterThan(0.9);
    expect(mean(ratios)).toBeLessThan(1.1);
  }
});

test('nothing is said without flags, without tasks in a step, and of a cluster that is one task', () => {
  const tasks = played(() => 0, 1);
  expect(enrichmentOf(tasks, steps(tasks, same))).toEqual({
    parents: { tasks: 0, ratio: null },
    candidates: { tasks: 0, ratio: null },
    admitted: { tasks: 0, ratio: null },
  });
  const alone = [{ id: '0', cluster: 'alone', isFlagged: true }];
  expect(enrichmentOf(alone, steps(alone, same)).parents).toEqual({ tasks: 1, ratio: null });
});

test('a variant of a cluster that nobody played is not of the region', () => {
  const tasks = played(inRegion, 1);
  expect(
    enrichmentOf(
      tasks,
      steps(tasks, () => 'new'),
    ).candidates.ratio,
  ).toBe(0);
});

test('names and order of clusters change nothing', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1000 }), (seed) => {
      const tasks = played(inRegion, seed);
      const renamed = tasks.map((task) => ({ ...task, cluster: `${task.cluster}!` })).reverse();
      const all = steps(tasks, same);
      const rename = (step: readonly RegionTask[]) => step.map((task) => ({ ...task, cluster: `${task.cluster}!` }));
      const { parents, candidates, admitted } = enrichmentOf(renamed, {
        parents: rename(all.parents),
        candidates: rename(all.candidates),
        admitted: rename(all.admitted),
      });
      const before = enrichmentOf(tasks, all);
      expect(parents.ratio).toBeCloseTo(before.parents.ratio!, 9);
      expect(candidates.ratio).toBeCloseTo(before.candidates.ratio!, 9);
      expect(admitted.ratio).toBeCloseTo(before.admitted.ratio!, 9);
    }),
  );
});
