import { seedsOfUnequalStarts, startPolicy } from '../../../src/domain/experiment/starts';

const cell = (arm: string, seed: number, policy: string, { sft = 14, sha256 = 'd' } = {}) => ({
  arm,
  seed,
  manifest: {
    spec: { training: { sft: { epochs: sft } } },
    datasets: [
      { iteration: 0, role: 'target', sha256, seed },
      { iteration: 1, role: 'target', sha256: `${arm} ${policy}`, seed },
    ],
    policies: [
      { iteration: 0, role: 'failure', id: 'f' },
      { iteration: 0, role: 'target', id: policy },
      { iteration: 1, role: 'target', id: `${arm} ${seed}` },
    ],
  },
});

test('a seed is named if equal data and settings gave different starts', () => {
  expect(startPolicy(cell('none', 1, 'a').manifest)).toBe('a');
  const alike = [cell('none', 1, 'a'), cell('signals', 1, 'a'), cell('none', 2, 'b'), cell('signals', 2, 'b')];
  expect(seedsOfUnequalStarts(alike)).toEqual([]);
  expect(seedsOfUnequalStarts([...alike, cell('random', 2, 'c')])).toEqual([2]);
});

test('starts that were trained otherwise may differ, and a cell without a manifest is not compared', () => {
  const others = [cell('long', 1, 'b', { sft: 28 }), cell('other', 1, 'c', { sha256: 'e' })];
  expect(seedsOfUnequalStarts([cell('none', 1, 'a'), ...others])).toEqual([]);
  expect(seedsOfUnequalStarts([cell('none', 1, 'a'), { arm: 'toy', seed: 1, manifest: null }])).toEqual([]);
});
