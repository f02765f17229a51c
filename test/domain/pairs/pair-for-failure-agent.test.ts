import * as fc from 'fast-check';
import { pairForFailureAgent } from '../../../src/domain/pairs/pair-rules';
import { defaultFailurePairSettings, type FailurePairSettings } from '../../../src/domain/pairs/pair-settings';
import { isSuccess, type ScoredAttempt } from '../../../src/domain/rollout/trajectory';
import { attemptLists, attemptOf, groupOf, reordered } from '../rollout/attempts';

const literal = defaultFailurePairSettings;
const union: FailurePairSettings = { ...literal, candidates: 'union' };
const pair = (attempts: readonly ScoredAttempt[], settings = literal) =>
  pairForFailureAgent({ attempts, seed: 7 }, settings);

test('the better failure is chosen, whichever agent it comes from', () => {
  const [target, failure] = [attemptOf({ reward: 0.2 }), attemptOf({ reward: 0.7, role: 'failure' })];

  expect(pair([target, failure])).toEqual({
    pairs: [
      {
        forRole: 'failure',
        kind: 'failure-failure',
        taskId: 'task-1',
        chosenId: failure.trajectoryId,
        rejectedId: target.trajectoryId,
        chosenReward: 0.7,
        rejectedReward: 0.2,
        lambdaDpo: 1,
        lambdaSft: 0,
        hardNegative: false,
      },
    ],
    dropped: [],
  });
});

test('eq. 6 pairs across the agents, its prose pairs all failures of both', () => {
  const attempts = [...groupOf([0, 0.1]), ...groupOf([0.2, 0.3], { role: 'failure' })];

  expect(pair(attempts).pairs).toHaveLength(4);
  expect(pair(attempts, union).pairs).toHaveLength(6);
});

test('one attempt per agent and task gives at most one pair per task', () => {
  const attempts = ['a', 'b', 'c'].flatMap((taskId) => [
    attemptOf({ taskId, reward: 0.1 }),
    attemptOf({ taskId, reward: 0.2, role: 'failure' }),
  ]);

  expect(pair(attempts, union).pairs).toHaveLength(3);
});

test('with rewards of 0 and 1 there are no failure-failure pairs: every candidate is a tie', () => {
  fc.assert(
    fc.property(attemptLists, fc.constantFrom(literal, union), (all, settings) => {
      const binary = all.map((attempt) => ({ ...attempt, reward: Math.round(attempt.reward) }));
      const { pairs, dropped } = pair(binary, settings);
      expect(pairs).toEqual([]);
      expect(dropped.every(({ reason }) => reason === 'tie')).toBe(true);
    }),
  );
});

test('a success is never paired, on either side', () => {
  expect(pair([attemptOf({ reward: 0.3 }), attemptOf({ reward: 1, role: 'failure' })])).toEqual({
    pairs: [],
    dropped: [],
  });
});

test('a rejected near-success is a hard negative', () => {
  const attempts = [attemptOf({ reward: 0.8 }), attemptOf({ reward: 0.6, role: 'failure' })];

  expect(pair(attempts).pairs[0]).toMatchObject({ rejectedReward: 0.6, hardNegative: true });
  expect(pair(attempts, { ...literal, hardNegativeReward: 0.7 }).pairs[0]).toMatchObject({ hardNegative: false });
});

test('whatever the attempts, each candidate is a pair or a counted drop, and pairs are sound', () => {
  const scenes = attemptLists.chain((all) => fc.tuple(fc.constant(all), reordered(all)));
  const settings = fc.record({
    candidates: fc.constantFrom<FailurePairSettings['candidates']>('cross-only', 'union'),
    dropSameActions: fc.boolean(),
    maxPairs: fc.option(fc.nat(5)),
    maxPairsPerTask: fc.option(fc.nat(3)),
  });
  fc.assert(
    fc.property(scenes, settings, ([all, other], chosen) => {
      const result = pair(all, { ...literal, ...chosen });
      expect(pair([...other, ...all], { ...literal, ...chosen })).toEqual(result);

      const counted = result.pairs.length + result.dropped.reduce((sum, { count }) => sum + count, 0);
      expect(counted).toBe(countCandidates(all, chosen.candidates === 'union'));
      expect(new Set(result.pairs.map((p) => `${p.chosenId} ${p.rejectedId}`)).size).toBe(result.pairs.length);
      for (const { chosenReward, rejectedReward } of result.pairs) {
        expect(chosenReward).toBeGreaterThan(rejectedReward);
        expect(isSuccess(chosenReward)).toBe(false);
      }
    }),
  );
});

test('switched off it pairs nothing', () => {
  const attempts = [attemptOf({ reward: 0.2 }), attemptOf({ reward: 0.7, role: 'failure' })];

  expect(pair(attempts, { ...literal, enabled: false })).toEqual({ pairs: [], dropped: [] });
});

/** By brute force: unordered twos of failures of one task, of two agents unless the union is meant. */
function countCandidates(all: readonly ScoredAttempt[], inUnion: boolean): number {
  const failures = all.filter(({ reward }) => reward < 1);
  let count = 0;
  for (const a of failures)
    for (const b of failures)
      if (a.trajectoryId < b.trajectoryId && a.taskId === b.taskId && (inUnion || a.role !== b.role)) count++;
  return count;
}
