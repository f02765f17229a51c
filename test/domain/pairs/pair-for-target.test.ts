import * as fc from 'fast-check';
import {
  defaultTargetPairSettings,
  etoPairSettings,
  positiveAgentPairSettings,
  positivePartnerPairSettings,
  type TargetPairSettings,
  type PairKind,
  pairKinds,
} from '../../../src/domain/pairs/pair-settings';
import { type ExpertTrajectory, pairForTarget } from '../../../src/domain/pairs/pair-rules';
import type { ScoredAttempt } from '../../../src/domain/rollout/trajectory';
import { attemptLists, attemptOf, groupOf, reordered, rewards } from '../rollout/attempts';

const literal = defaultTargetPairSettings;

const expertOf = (given: Partial<ExpertTrajectory> = {}): ExpertTrajectory => {
  const taskId = given.taskId ?? 'task-1';
  return { trajectoryId: `expert/${taskId}`, taskId, reward: 1, actions: ['expert()'], ...given };
};

const pair = (attempts: readonly ScoredAttempt[], settings = literal, experts = [expertOf()]) =>
  pairForTarget({ attempts, experts, seed: 7 }, settings);

const kindsOf = (result: { pairs: readonly { kind: PairKind }[] }) => result.pairs.map(({ kind }) => kind).sort();

test('eq. 8: the expert against both agents, and their failures against each other', () => {
  const result = pair([attemptOf({ reward: 0.7 }), attemptOf({ reward: 0.2, role: 'failure' })]);

  expect(result.dropped).toEqual([]);
  expect(result.pairs.map(({ kind, chosenId, rejectedId }) => [kind, chosenId, rejectedId])).toEqual([
    ['failure-failure', '1/target/task-1/0', '1/failure/task-1/0'],
    ['expert-target', 'expert/task-1', '1/target/task-1/0'],
    ['expert-failure', 'expert/task-1', '1/failure/task-1/0'],
  ]);
});

test('eq. 9 weighs expert pairs half and half and failure pairs by DPO alone', () => {
  const { pairs } = pair([attemptOf({ reward: 0.7 }), attemptOf({ reward: 0.2, role: 'failure' })]);

  expect(pairs.map(({ lambdaDpo, lambdaSft }) => [lambdaDpo, lambdaSft])).toEqual([
    [1, 0],
    [0.5, 0.5],
    [0.5, 0.5],
  ]);
});

test('an attempt as good as its expert is a tie', () => {
  expect(pair([attemptOf({ reward: 1 })])).toEqual({
    pairs: [],
    dropped: [{ kind: 'expert-target', reason: 'tie', count: 1 }],
  });
});

test('an attempt better than its expert flips the pair, as in the code of ETO, or is dropped', () => {
  const [attempt, experts] = [attemptOf({ reward: 1 }), [expertOf({ reward: 0.7 })]];

  expect(pair([attempt], literal, experts).pairs).toMatchObject([
    { kind: 'expert-target', chosenId: attempt.trajectoryId, rejectedId: 'expert/task-1', hardNegative: true },
  ]);
  expect(pair([attempt], { ...literal, expertBeaten: 'drop' }, experts)).toEqual({
    pairs: [],
    dropped: [{ kind: 'expert-target', reason: 'expert-not-better', count: 1 }],
  });
});

test('failure pairs are oriented by reward even where beaten experts are dropped', () => {
  const attempts = [attemptOf({ reward: 0.2 }), attemptOf({ reward: 0.7, role: 'failure' })];

  expect(kindsOf(pair(attempts, { ...literal, expertBeaten: 'drop' }, []))).toEqual(['failure-failure']);
});

test('an attempt at a task without an expert is counted, and may still meet the other agent', () => {
  const result = pair([attemptOf({ reward: 0.7 }), attemptOf({ reward: 0.2, role: 'failure' })], literal, []);

  expect(kindsOf(result)).toEqual(['failure-failure']);
  expect(result.dropped).toEqual([
    { kind: 'expert-target', reason: 'no-expert', count: 1 },
    { kind: 'expert-failure', reason: 'no-expert', count: 1 },
  ]);
});

test('attempts that repeat the same actions give one pair, unless the settings keep them', () => {
  const repeated = groupOf([0, 0, 0.5], { actions: ['f()'] });

  expect(pair(repeated)).toMatchObject({
    pairs: { length: 1 },
    dropped: [{ kind: 'expert-target', reason: 'same-actions', count: 2 }],
  });
  expect(pair(repeated, { ...literal, dropSameActions: false }).pairs).toHaveLength(3);
});

test('the same actions at two tasks are two pairs', () => {
  const attempts = ['task-1', 'task-2'].map((taskId) => attemptOf({ taskId, actions: ['f()'] }));

  expect(pair(attempts, literal, [expertOf(), expertOf({ taskId: 'task-2' })]).pairs).toHaveLength(2);
});

test('two sides that took the same actions teach nothing', () => {
  expect(pair([attemptOf({ actions: ['expert()'] })]).dropped).toEqual([
    { kind: 'expert-target', reason: 'same-actions', count: 1 },
  ]);
});

test('with rewards of 0 and 1 the method is ETO with two negatives per expert', () => {
  const attempts = [...groupOf([0, 1]), ...groupOf([0, 0], { role: 'failure' })];

  expect(kindsOf(pair(attempts))).toEqual(['expert-failure', 'expert-failure', 'expert-target']);
});

test.each([
  { recipe: 'eto', settings: etoPairSettings, kinds: ['expert-target'], forRole: 'target', lambdaSft: 0 },
  {
    recipe: 'the positive agent',
    settings: positiveAgentPairSettings,
    kinds: ['expert-positive'],
    forRole: 'positive',
    lambdaSft: 0,
  },
])('$recipe trains on $kinds alone, by DPO', ({ settings, kinds, forRole, lambdaSft }) => {
  const result = pair([attemptOf(), attemptOf({ role: 'positive', reward: 0.4 })], settings);

  expect(kindsOf(result)).toEqual(kinds);
  expect(result.pairs[0]).toMatchObject({ forRole, lambdaDpo: 1, lambdaSft });
});

test('beside a positive agent, the target learns from it what it would learn from a failure agent', () => {
  const result = pair([attemptOf(), attemptOf({ role: 'positive', reward: 0.4 })], positivePartnerPairSettings);

  expect(kindsOf(result)).toEqual(['expert-positive', 'expert-target', 'failure-failure']);
});

const experts = fc
  .uniqueArray(fc.record({ taskId: fc.constantFrom('a', 'b', 'c', 'd'), reward: rewards, n: fc.nat(1) }), {
    selector: ({ taskId, n }) => `${taskId}/${n}`,
  })
  .map((list) => list.map(({ n, ...given }) => expertOf({ ...given, trajectoryId: `expert/${given.taskId}/${n}` })));

const everySettings = fc
  .record({
    expertBeaten: fc.constantFrom<TargetPairSettings['expertBeaten']>('flip', 'drop'),
    dropSameActions: fc.boolean(),
    enabled: fc.subarray([...pairKinds]),
    maxPairs: fc.option(fc.nat(5)),
    maxPairsPerTask: fc.option(fc.nat(3)),
  })
  .map(({ enabled, maxPairs, maxPairsPerTask, ...rest }): TargetPairSettings => {
    const kinds = { ...literal.kinds };
    for (const kind of pairKinds)
      kinds[kind] = { ...kinds[kind], enabled: enabled.includes(kind), maxPairs, maxPairsPerTask };
    return { ...literal, ...rest, kinds };
  });

const scenes = attemptLists.chain((all) =>
  experts.chain((list) => fc.tuple(fc.constant(all), fc.constant(list), reordered(all), reordered(list))),
);

test('whatever the attempts, each candidate is a pair or a counted drop, kind by kind', () => {
  fc.assert(
    fc.property(scenes, everySettings, ([attempts, known], settings) => {
      const { pairs, dropped } = pair(attempts, settings, known);
      for (const kind of pairKinds) {
        const kept = pairs.filter((p) => p.kind === kind).length;
        const lost = dropped.filter((d) => d.kind === kind).reduce((sum, { count }) => sum + count, 0);
        expect(kept + lost).toBe(settings.kinds[kind].enabled ? countCandidates(attempts, known, kind) : 0);
      }
    }),
  );
});

test('whatever the attempts, pairs are oriented, unique, within their limits and marked right', () => {
  fc.assert(
    fc.property(scenes, everySettings, ([attempts, known], settings) => {
      const { pairs } = pair(attempts, settings, known);
      const rewardOf = new Map([...attempts, ...known].map(({ trajectoryId, reward }) => [trajectoryId, reward]));
      expect(new Set(pairs.map((p) => `${p.chosenId} ${p.rejectedId}`)).size).toBe(pairs.length);
      for (const p of pairs) {
        expect(p.chosenReward).toBeGreaterThan(p.rejectedReward);
        expect([p.chosenReward, p.rejectedReward]).toEqual([rewardOf.get(p.chosenId), rewardOf.get(p.rejectedId)]);
        expect(p.hardNegative).toBe(p.rejectedReward >= 0.6 && p.rejectedReward < 1);
      }
      for (const kind of pairKinds) {
        const ofKind = pairs.filter((p) => p.kind === kind);
        const { maxPairs, maxPairsPerTask } = settings.kinds[kind];
        expect(ofKind.length).toBeLessThanOrEqual(maxPairs ?? Infinity);
        for (const task of ['a', 'b', 'c', 'd'])
          expect(ofKind.filter(({ taskId }) => taskId === task).length).toBeLessThanOrEqual(
            maxPairsPerTask ?? Infinity,
          );
      }
    }),
  );
});

test('order of storage and repetition change nothing', () => {
  fc.assert(
    fc.property(scenes, everySettings, ([attempts, known, otherAttempts, otherKnown], settings) => {
      expect(pair([...otherAttempts, ...attempts], settings, [...otherKnown, ...known])).toEqual(
        pair(attempts, settings, known),
      );
    }),
  );
});

/** By brute force, from eq. 8. */
function countCandidates(
  attempts: readonly ScoredAttempt[],
  known: readonly ExpertTrajectory[],
  kind: PairKind,
): number {
  const failures = (role: string) => attempts.filter((attempt) => attempt.role === role && attempt.reward < 1);
  if (kind === 'failure-failure')
    return failures('target').flatMap((a) => failures('failure').filter((b) => a.taskId === b.taskId)).length;
  return attempts
    .filter(({ role }) => kind === `expert-${role}`)
    .reduce((sum, { taskId }) => sum + Math.max(1, known.filter((expert) => expert.taskId === taskId).length), 0);
}
