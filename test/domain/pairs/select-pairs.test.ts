import * as fc from 'fast-check';
import { defaultTargetPairSettings } from '../../../src/domain/pairs/pair-settings';
import {
  isHardNegative,
  type PairCandidate,
  type PairSelection,
  selectPairs,
} from '../../../src/domain/pairs/select-pairs';
import { attemptOf } from '../rollout/attempts';

const selection = { ...defaultTargetPairSettings, seed: 7 };

/** Failures of several tasks, each with one better failure: every candidate can become a pair. */
const candidatesOf = (tasks: number, perTask: number): PairCandidate[] =>
  Array.from({ length: tasks }, (_, task) => `task-${task}`).flatMap((taskId) =>
    Array.from({ length: perTask }, (_unused, attempt) => ({
      kind: 'failure-failure' as const,
      first: attemptOf({ taskId, reward: 0.5 }),
      second: attemptOf({ taskId, attempt, role: 'failure' }),
    })),
  );

const limited = (limits: { maxPairs?: number; maxPairsPerTask?: number }, seed = 7): PairSelection => {
  const kinds = { ...selection.kinds };
  kinds['failure-failure'] = { ...kinds['failure-failure'], ...limits };
  return { ...selection, kinds, seed };
};

test('the cap per task is applied before the quota of the kind', () => {
  const { pairs, dropped } = selectPairs(candidatesOf(4, 5), limited({ maxPairsPerTask: 2, maxPairs: 6 }));

  expect(pairs).toHaveLength(6);
  expect(dropped).toEqual([
    { kind: 'failure-failure', reason: 'task-cap', count: 12 },
    { kind: 'failure-failure', reason: 'quota', count: 2 },
  ]);
});

test('easy and hard pairs can be held at one number by their ranges and a quota', () => {
  const graded = Array.from({ length: 20 }, (_, n) => `task-${n}`).flatMap((taskId) =>
    [0, 0.2, 0.6, 0.8].map((reward, attempt) => ({
      kind: 'expert-failure' as const,
      first: attemptOf({ taskId, reward: 1, attempt: 9 }),
      second: attemptOf({ taskId, reward, attempt, role: 'failure' }),
    })),
  );
  const within = (low: number, high: number) => {
    const settings = { ...selection.kinds['expert-failure'], reward: { low, high }, maxPairs: 15 };
    return selectPairs(graded, { ...selection, kinds: { ...selection.kinds, 'expert-failure': settings } });
  };
  const [easy, hard] = [within(0, 0.3), within(0.6, 1)];
  expect([easy.pairs.length, hard.pairs.length]).toEqual([15, 15]);
  expect(new Set(easy.pairs.map(({ rejectedReward }) => rejectedReward))).toEqual(new Set([0, 0.2]));
  expect(new Set(hard.pairs.map(({ rejectedReward }) => rejectedReward))).toEqual(new Set([0.6, 0.8]));
  expect(easy.dropped).toContainEqual({ kind: 'expert-failure', reason: 'reward-range', count: 40 });
});

test('a quota of 0 keeps no pair, and without a quota all pairs are kept', () => {
  expect(selectPairs(candidatesOf(2, 2), limited({ maxPairs: 0 })).pairs).toEqual([]);
  expect(selectPairs(candidatesOf(2, 2), selection)).toMatchObject({ pairs: { length: 4 }, dropped: [] });
});

test('the pairs kept under a quota depend only on the seed', () => {
  const keptBy = (seed: number) =>
    selectPairs(candidatesOf(10, 3), limited({ maxPairs: 5 }, seed)).pairs.map(({ rejectedId }) => rejectedId);

  expect(keptBy(1)).toEqual(keptBy(1));
  expect(keptBy(1)).not.toEqual(keptBy(2));
});

test('over many seeds, a quota keeps every candidate about equally often', () => {
  const kept = new Map<string, number>();
  for (let seed = 0; seed < 1000; seed++)
    for (const { rejectedId } of selectPairs(candidatesOf(10, 1), limited({ maxPairs: 3 }, seed)).pairs)
      kept.set(rejectedId, (kept.get(rejectedId) ?? 0) + 1);

  expect(kept.size).toBe(10);
  for (const count of kept.values()) expect(Math.abs(count - 300)).toBeLessThan(73); // five standard errors
});

test('a smaller quota keeps a subset of the pairs of a larger quota', () => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(20), fc.nat(1000), (a, b, seed) => {
      const keptOf = (maxPairs: number) => selectPairs(candidatesOf(5, 4), limited({ maxPairs }, seed)).pairs;
      expect(keptOf(Math.max(a, b))).toEqual(expect.arrayContaining(keptOf(Math.min(a, b))));
    }),
  );
});

test.each([
  { reward: 0.59, hard: false },
  { reward: 0.6, hard: true },
  { reward: 0.99, hard: true },
  { reward: 1, hard: false },
])('a reward of $reward is a hard negative: $hard', ({ reward, hard }) => {
  expect(isHardNegative(reward, 0.6)).toBe(hard);
});

test.each([
  { maxPairs: -1 },
  { maxPairs: 1.5 },
  { maxPairsPerTask: -1 },
  { lambdaDpo: -0.1 },
  { lambdaSft: Number.NaN },
  { reward: { low: 0.5, high: 0.5 } },
  { reward: { low: 0, high: 1.5 } },
])('the settings %p are rejected with the name of the setting', (wrong) => {
  const kinds = { ...selection.kinds, 'expert-target': { ...selection.kinds['expert-target'], ...wrong } };
  expect(() => selectPairs([], { ...selection, kinds })).toThrow(
    expect.objectContaining({
      code: 'InvalidSetting',
      message: expect.stringContaining(`expert-target.${Object.keys(wrong)[0]}`),
    }),
  );
});

test('a hard-negative reward outside [0, 1] is rejected', () => {
  expect(() => selectPairs([], { ...selection, hardNegativeReward: 60 })).toThrow(
    expect.objectContaining({ code: 'InvalidSetting' }),
  );
});
