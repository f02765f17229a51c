import * as fc from 'fast-check';
import { pairForFailureAgent, pairForTarget, type ExpertTrajectory } from '../../../src/domain/pairs/pair-rules';
import {
  defaultFailurePairSettings,
  defaultTargetPairSettings,
  pairKinds,
  type FailurePairSettings,
  type PairKind,
  type PairKindSettings,
  type TargetPairSettings,
} from '../../../src/domain/pairs/pair-settings';
import type { PairingResult } from '../../../src/domain/pairs/select-pairs';
import { isSuccess, type ScoredAttempt } from '../../../src/domain/rollout/trajectory';
import { attemptLists, reordered, rewards } from '../rollout/attempts';

const numRuns = 1_000;

const limit = fc.option(fc.integer({ min: 0, max: 6 }));
const weights = fc.constantFrom(0, 0.5, 1);
const ranges = fc.constantFrom({ low: 0, high: 1 }, { low: 0, high: 0.5 }, { low: 0.5, high: 1 });
const kindSettings: fc.Arbitrary<PairKindSettings> = fc.record({
  enabled: fc.boolean(),
  reward: ranges,
  maxPairs: limit,
  maxPairsPerTask: limit,
  lambdaDpo: weights,
  lambdaSft: weights,
});
const sharedSettings = { dropSameActions: fc.boolean(), hardNegativeReward: fc.constantFrom(0, 0.5, 0.6, 1) };
const targetSettings: fc.Arbitrary<TargetPairSettings> = fc.record({
  ...sharedSettings,
  forRole: fc.constantFrom('target' as const, 'positive' as const),
  expertBeaten: fc.constantFrom('flip' as const, 'drop' as const),
  kinds: fc.record(
    Object.fromEntries(pairKinds.map((kind) => [kind, kindSettings])) as Record<PairKind, typeof kindSettings>,
  ),
});
const failureSettings: fc.Arbitrary<FailurePairSettings> = fc
  .tuple(
    kindSettings,
    fc.record({ ...sharedSettings, candidates: fc.constantFrom('cross-only' as const, 'union' as const) }),
  )
  .map(([ofKind, shared]) => ({ ...ofKind, ...shared }));

/** Up to two experts per task; some with the actions of an attempt. */
const experts: fc.Arbitrary<ExpertTrajectory[]> = fc
  .uniqueArray(
    fc.record({
      taskId: fc.constantFrom('a', 'b', 'c', 'd'),
      reward: rewards,
      actions: fc.constantFrom(['expert()'], ['f(1)']),
      n: fc.nat(1),
    }),
    { selector: ({ taskId, n }) => `${taskId}/${n}` },
  )
  .map((list) => list.map(({ n, ...expert }) => ({ ...expert, trajectoryId: `0/expert/${expert.taskId}/${n}` })));

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });

/** Attempts with their reordered copy. */
const attempts = attemptLists.chain((list) => fc.tuple(fc.constant(list), reordered(list)));

test("the target's pairs are sound and complete, independent of the order and the repetition of attempts", () => {
  const inputs = experts.chain((list) => fc.tuple(fc.constant(list), reordered(list)));
  const property = fc.property(
    attempts,
    inputs,
    targetSettings,
    seeds,
    ([played, otherPlayed], [known, otherKnown], settings, seed) => {
      const result = pairForTarget({ attempts: played, experts: known, seed }, settings);
      expectSound(result, [...played, ...known], settings);
      if (settings.dropSameActions) expectDistinctActions(result, [...played, ...known]);
      for (const kind of pairKinds)
        expectWithinLimits(result, kind, settings.kinds[kind], countTargetCandidates(played, known, kind));
      const repeated = { attempts: [...otherPlayed, ...played], experts: [...otherKnown, ...known], seed };
      expect(pairForTarget(repeated, settings)).toEqual(result);
    },
  );
  fc.assert(property, { numRuns });
});

test("the failure agent's pairs are sound and complete, independent of the order and the repetition of attempts", () => {
  const property = fc.property(attempts, failureSettings, seeds, ([played, otherPlayed], settings, seed) => {
    const result = pairForFailureAgent({ attempts: played, seed }, settings);
    expectSound(result, played, { ...settings, forRole: 'failure' });
    if (settings.dropSameActions) expectDistinctActions(result, played);
    expectWithinLimits(result, 'failure-failure', settings, countFailurePairs(played, settings.candidates === 'union'));
    for (const { chosenReward, kind } of result.pairs)
      expect([kind, isSuccess(chosenReward)]).toEqual(['failure-failure', false]);
    expect(pairForFailureAgent({ attempts: [...otherPlayed, ...played], seed }, settings)).toEqual(result);
  });
  fc.assert(property, { numRuns });
});

test('ranges of the rejected reward that share an end divide the pairs of both, and the whole range keeps all', () => {
  const cuts = fc.constantFrom(0.25, 0.5, 0.6, 0.75);
  fc.assert(
    fc.property(attemptLists, experts, cuts, seeds, (played, known, cut, seed) => {
      const within = (low: number, high: number): string[] => {
        const kinds = mapKinds((settings) => ({ ...settings, enabled: true, reward: { low, high } }));
        const settings = { ...defaultTargetPairSettings, dropSameActions: false, kinds };
        const { pairs } = pairForTarget({ attempts: played, experts: known, seed }, settings);
        return pairs.map((pair) => JSON.stringify(pair));
      };
      expect([...within(0, cut), ...within(cut, 1)].sort()).toEqual(within(0, 1).sort());
    }),
  );
});

test('with rewards of 0 and 1 there are no failure-failure pairs: every candidate is a tie', () => {
  fc.assert(
    fc.property(attemptLists, fc.constantFrom('cross-only' as const, 'union' as const), (list, candidates) => {
      const binary = list.map((attempt) => ({ ...attempt, reward: Math.round(attempt.reward) }));
      const settings = { ...defaultFailurePairSettings, candidates };
      const { pairs, dropped } = pairForFailureAgent({ attempts: binary, seed: 7 }, settings);
      expect(pairs).toEqual([]);
      expect(dropped.every(({ reason }) => reason === 'tie')).toBe(true);
    }),
  );
});

const mapKinds = (change: (settings: PairKindSettings) => PairKindSettings): TargetPairSettings['kinds'] =>
  Object.fromEntries(
    pairKinds.map((kind) => [kind, change(defaultTargetPairSettings.kinds[kind])]),
  ) as TargetPairSettings['kinds'];

type Side = Pick<ScoredAttempt, 'trajectoryId' | 'taskId' | 'reward'>;

/** Every pair joins two trajectories of one task, the better one chosen, and occurs once. */
function expectSound(
  { pairs, dropped }: PairingResult,
  sides: readonly Side[],
  { forRole, hardNegativeReward }: Pick<TargetPairSettings, 'forRole' | 'hardNegativeReward'>,
): void {
  const byId = new Map(sides.map((side) => [side.trajectoryId, side]));
  expect(new Set(pairs.map(({ chosenId, rejectedId }) => `${chosenId} ${rejectedId}`)).size).toBe(pairs.length);
  for (const pair of pairs) {
    const [chosen, rejected] = [byId.get(pair.chosenId)!, byId.get(pair.rejectedId)!];
    expect([chosen.taskId, rejected.taskId]).toEqual([pair.taskId, pair.taskId]);
    expect([pair.chosenReward, pair.rejectedReward]).toEqual([chosen.reward, rejected.reward]);
    expect(chosen.reward).toBeGreaterThan(rejected.reward);
    expect(pair.hardNegative).toBe(rejected.reward >= hardNegativeReward && rejected.reward < 1);
    expect(pair.forRole).toBe(forRole);
  }
  expect(dropped.every(({ count }) => count > 0)).toBe(true);
}

/** No two pairs of the training set, of any kinds, show the same two sequences of actions at one task. */
function expectDistinctActions(
  { pairs }: PairingResult,
  sides: readonly (Side & { actions: readonly string[] })[],
): void {
  const actionsOf = new Map(sides.map(({ trajectoryId, actions }) => [trajectoryId, actions]));
  const shown = pairs.map((pair) => [pair.taskId, actionsOf.get(pair.chosenId), actionsOf.get(pair.rejectedId)]);
  expect(new Set(shown.map((of) => JSON.stringify(of))).size).toBe(pairs.length);
}

/** Each candidate of the kind is a pair or counted as dropped, and the kind's limits and weights are applied. */
function expectWithinLimits(
  result: PairingResult,
  kind: PairKind,
  settings: PairKindSettings,
  candidates: number,
): void {
  const pairs = result.pairs.filter((pair) => pair.kind === kind);
  const dropped = result.dropped.filter((drop) => drop.kind === kind);
  const counted = pairs.length + dropped.reduce((sum, { count }) => sum + count, 0);
  expect(counted).toBe(settings.enabled ? candidates : 0);
  expect(pairs.length).toBeLessThanOrEqual(settings.maxPairs ?? Infinity);
  const perTask = new Map<string, number>();
  for (const { taskId } of pairs) perTask.set(taskId, (perTask.get(taskId) ?? 0) + 1);
  expect(Math.max(0, ...perTask.values())).toBeLessThanOrEqual(settings.maxPairsPerTask ?? Infinity);
  for (const { rejectedReward } of pairs) {
    expect(rejectedReward).toBeGreaterThanOrEqual(settings.reward.low);
    expect(rejectedReward).toBeLessThan(settings.reward.high);
  }
  for (const { lambdaDpo, lambdaSft } of pairs)
    expect({ lambdaDpo, lambdaSft }).toEqual({ lambdaDpo: settings.lambdaDpo, lambdaSft: settings.lambdaSft });
}

/** Counts the candidates of eq. 8 by brute force. */
function countTargetCandidates(
  played: readonly ScoredAttempt[],
  known: readonly ExpertTrajectory[],
  kind: PairKind,
): number {
  if (kind === 'failure-failure') return countFailurePairs(played, false);
  return played
    .filter(({ role }) => kind === `expert-${role}`)
    .reduce((sum, { taskId }) => sum + Math.max(1, known.filter((expert) => expert.taskId === taskId).length), 0);
}

/** Counts the unordered pairs of failures of one task by brute force: of both agents, or of any agents in the union. */
function countFailurePairs(played: readonly ScoredAttempt[], isUnion: boolean): number {
  const failures = played.filter(({ reward }) => reward < 1);
  let count = 0;
  for (const a of failures)
    for (const b of failures)
      if (a.trajectoryId < b.trajectoryId && a.taskId === b.taskId && (isUnion || a.role !== b.role)) count++;
  return count;
}
