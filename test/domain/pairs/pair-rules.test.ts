import { pairForFailureAgent, pairForTarget, type ExpertTrajectory } from '../../../src/domain/pairs/pair-rules';
import {
  defaultFailurePairSettings,
  defaultTargetPairSettings,
  etoPairSettings,
  positiveAgentPairSettings,
  positivePartnerPairSettings,
  type FailurePairSettings,
  type PairKind,
} from '../../../src/domain/pairs/pair-settings';
import type { ScoredAttempt } from '../../../src/domain/rollout/trajectory';
import { attemptOf, groupOf } from '../rollout/attempts';

const kindsOf = (result: { pairs: readonly { kind: PairKind }[] }) => result.pairs.map(({ kind }) => kind).sort();

/** The target's failure with reward 0.7 and the failure agent's with 0.2, at one task. */
const twoFailures = [attemptOf({ reward: 0.7 }), attemptOf({ reward: 0.2, role: 'failure' })];

describe("the target's pairs", () => {
  const settings = defaultTargetPairSettings;

  const expertOf = (given: Partial<ExpertTrajectory> = {}): ExpertTrajectory => {
    const taskId = given.taskId ?? 'task-1';
    return { trajectoryId: `expert/${taskId}`, taskId, reward: 1, actions: ['expert()'], ...given };
  };

  const pair = (attempts: readonly ScoredAttempt[], given = settings, experts = [expertOf()]) =>
    pairForTarget({ attempts, experts, seed: 7 }, given);

  test('eq. 8 pairs the expert with both agents, and their failures with each other', () => {
    const result = pair(twoFailures);

    expect(result.dropped).toEqual([]);
    expect(result.pairs.map(({ kind, chosenId, rejectedId }) => [kind, chosenId, rejectedId])).toEqual([
      ['failure-failure', '1/target/task-1/0', '1/failure/task-1/0'],
      ['expert-target', 'expert/task-1', '1/target/task-1/0'],
      ['expert-failure', 'expert/task-1', '1/failure/task-1/0'],
    ]);
  });

  test('eq. 9 weighs expert pairs half and half, and failure pairs by DPO alone', () => {
    expect(pair(twoFailures).pairs.map(({ lambdaDpo, lambdaSft }) => [lambdaDpo, lambdaSft])).toEqual([
      [1, 0],
      [0.5, 0.5],
      [0.5, 0.5],
    ]);
  });

  test('an attempt with the reward of its expert is a tie', () => {
    expect(pair([attemptOf({ reward: 1 })])).toEqual({
      pairs: [],
      dropped: [{ kind: 'expert-target', reason: 'tie', count: 1 }],
    });
  });

  test('an attempt better than its expert flips the pair, as in the code of ETO, or is dropped', () => {
    const [attempt, experts] = [attemptOf({ reward: 1 }), [expertOf({ reward: 0.7 })]];

    expect(pair([attempt], settings, experts).pairs).toMatchObject([
      { kind: 'expert-target', chosenId: attempt.trajectoryId, rejectedId: 'expert/task-1', hardNegative: true },
    ]);
    expect(pair([attempt], { ...settings, expertBeaten: 'drop' }, experts)).toEqual({
      pairs: [],
      dropped: [{ kind: 'expert-target', reason: 'expert-not-better', count: 1 }],
    });
  });

  test('failure pairs are oriented by reward also where pairs with a beaten expert are dropped', () => {
    const attempts = [attemptOf({ reward: 0.2 }), attemptOf({ reward: 0.7, role: 'failure' })];

    expect(kindsOf(pair(attempts, { ...settings, expertBeaten: 'drop' }, []))).toEqual(['failure-failure']);
  });

  test('an attempt at a task without an expert is counted, and is still paired with the other agent', () => {
    const result = pair(twoFailures, settings, []);

    expect(kindsOf(result)).toEqual(['failure-failure']);
    expect(result.dropped).toEqual([
      { kind: 'expert-target', reason: 'no-expert', count: 1 },
      { kind: 'expert-failure', reason: 'no-expert', count: 1 },
    ]);
  });

  test('attempts with the same actions give one pair, unless the settings keep all of them', () => {
    const repeated = groupOf([0, 0, 0.5], { actions: ['f()'] });

    expect(pair(repeated)).toMatchObject({
      pairs: { length: 1 },
      dropped: [{ kind: 'expert-target', reason: 'same-actions', count: 2 }],
    });
    expect(pair(repeated, { ...settings, dropSameActions: false }).pairs).toHaveLength(3);
  });

  test("a mistake that both agents make gives one pair, the target's, and is counted for the other kind", () => {
    const attempts = [...groupOf([0, 0], { actions: ['f()'] }), ...groupOf([0, 0, 0], { role: 'failure' })];
    const shared = attempts.map((attempt, i) => (i < 4 ? { ...attempt, actions: ['f()'] } : attempt));
    const result = pair(shared);

    expect(result.pairs.map(({ kind, rejectedId }) => [kind, rejectedId])).toEqual([
      ['expert-target', '1/target/task-1/0'],
      ['expert-failure', '1/failure/task-1/2'],
    ]);
    expect(result.dropped.filter(({ kind }) => kind.startsWith('expert'))).toEqual([
      { kind: 'expert-target', reason: 'same-actions', count: 1 },
      { kind: 'expert-failure', reason: 'other-kind', count: 1 },
      { kind: 'expert-failure', reason: 'same-actions', count: 1 },
    ]);
    expect(pair(shared, { ...settings, dropSameActions: false }).pairs).toHaveLength(5);
  });

  test('a pair that the quota of its first kind drops is kept by the next kind', () => {
    const attempts = [attemptOf({ actions: ['f()'] }), attemptOf({ role: 'failure', actions: ['f()'] })];
    const kinds = { ...settings.kinds, 'expert-target': { ...settings.kinds['expert-target'], maxPairs: 0 } };

    expect(kindsOf(pair(attempts, { ...settings, kinds }))).toEqual(['expert-failure']);
  });

  test("the failure agent's own pairs are unaffected by the target's", () => {
    const attempts = [
      attemptOf({ reward: 0.7, actions: ['g()'] }),
      attemptOf({ reward: 0.2, role: 'failure', actions: ['f()'] }),
    ];

    expect(kindsOf(pair(attempts, settings, []))).toEqual(['failure-failure']);
    expect(kindsOf(pairForFailureAgent({ attempts, seed: 7 }, defaultFailurePairSettings))).toEqual([
      'failure-failure',
    ]);
  });

  test('the same actions at two tasks give two pairs', () => {
    const attempts = ['task-1', 'task-2'].map((taskId) => attemptOf({ taskId, actions: ['f()'] }));

    expect(pair(attempts, settings, [expertOf(), expertOf({ taskId: 'task-2' })]).pairs).toHaveLength(2);
  });

  test('two sides with the same actions are not paired', () => {
    expect(pair([attemptOf({ actions: ['expert()'] })]).dropped).toEqual([
      { kind: 'expert-target', reason: 'same-actions', count: 1 },
    ]);
  });

  test('with rewards of 0 and 1 the method is ETO with two negatives per expert', () => {
    const attempts = [...groupOf([0, 1]), ...groupOf([0, 0], { role: 'failure' })];

    expect(kindsOf(pair(attempts))).toEqual(['expert-failure', 'expert-failure', 'expert-target']);
  });

  test.each([
    { recipe: 'eto', given: etoPairSettings, kinds: ['expert-target'], forRole: 'target', lambdaSft: 0 },
    {
      recipe: 'the positive agent',
      given: positiveAgentPairSettings,
      kinds: ['expert-positive'],
      forRole: 'positive',
      lambdaSft: 0,
    },
  ])('$recipe trains on $kinds alone, by DPO', ({ given, kinds, forRole, lambdaSft }) => {
    const result = pair([attemptOf(), attemptOf({ role: 'positive', reward: 0.4 })], given);

    expect(kindsOf(result)).toEqual(kinds);
    expect(result.pairs[0]).toMatchObject({ forRole, lambdaDpo: 1, lambdaSft });
  });

  test('with a positive agent, the target trains on the kinds of pairs that it has with a failure agent', () => {
    const result = pair([attemptOf(), attemptOf({ role: 'positive', reward: 0.4 })], positivePartnerPairSettings);

    expect(kindsOf(result)).toEqual(['expert-positive', 'expert-target', 'failure-failure']);
  });
});

describe("the failure agent's pairs", () => {
  const settings = defaultFailurePairSettings;
  const union: FailurePairSettings = { ...settings, candidates: 'union' };
  const pair = (attempts: readonly ScoredAttempt[], given = settings) =>
    pairForFailureAgent({ attempts, seed: 7 }, given);

  test('the better failure is chosen, regardless of its agent', () => {
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

  test("eq. 6 pairs failures across the agents, the paper's text pairs all failures of both", () => {
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

  test('a success is on neither side of a pair', () => {
    expect(pair([attemptOf({ reward: 0.3 }), attemptOf({ reward: 1, role: 'failure' })])).toEqual({
      pairs: [],
      dropped: [],
    });
  });

  test('a rejected near-success is a hard negative', () => {
    const attempts = [attemptOf({ reward: 0.8 }), attemptOf({ reward: 0.6, role: 'failure' })];

    expect(pair(attempts).pairs[0]).toMatchObject({ rejectedReward: 0.6, hardNegative: true });
    expect(pair(attempts, { ...settings, hardNegativeReward: 0.7 }).pairs[0]).toMatchObject({ hardNegative: false });
  });

  test('there are no pairs when the kind is disabled', () => {
    expect(pair(twoFailures, { ...settings, enabled: false })).toEqual({ pairs: [], dropped: [] });
  });
});
