import * as fc from 'fast-check';
import { pairForFailureAgent, pairForTarget } from '../../../src/domain/pairs/pair-rules';
import {
  defaultTargetPairSettings,
  type FailurePairSettings,
  type PairKindSettings,
  type TargetPairSettings,
  pairKinds,
  type PairKind,
} from '../../../src/domain/pairs/pair-settings';
import type { PairingResult } from '../../../src/domain/pairs/select-pairs';
import { isSuccess, type ScoredAttempt } from '../../../src/domain/rollout/trajectory';
import { attemptLists, reordered, rewards } from '../rollout/attempts';

const numRuns = 1_000;

const limit = fc.option(fc.integer({ min: 0, max: 6 }));
const weights = fc.constantFrom(0, 0.5, 1);
const kindSettings: fc.Arbitrary<PairKindSettings> = fc.record({
  enabled: fc.boolean(),
  maxPairs: limit,
  maxPairsPerTask: limit,
  lambdaDpo: weights,
  lambdaSft: weights,
});
const shared = { dropSameActions: fc.boolean(), hardNegativeReward: fc.constantFrom(0, 0.5, 0.6, 1) };
const targetSettings: fc.Arbitrary<TargetPairSettings> = fc.record({
  ...shared,
  forRole: fc.constantFrom('target' as const, 'positive' as const),
  expertBeaten: fc.constantFrom('flip' as const, 'drop' as const),
  kinds: fc.record(
    Object.fromEntries(pairKinds.map((kind) => [kind, kindSettings])) as Record<PairKind, typeof kindSettings>,
  ),
});
const failureSettings: fc.Arbitrary<FailurePairSettings> = fc
  .tuple(kindSettings, fc.record({ ...shared, candidates: fc.constantFrom('cross-only' as const, 'union' as const) }))
  .map(([ofKind, rest]) => ({ ...ofKind, ...rest }));

const experts = fc
  .uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 })
  .chain((tasks) => fc.tuple(...tasks.map((taskId) => fc.record({ taskId: fc.constant(taskId), reward: rewards }))))
  .map((made) =>
    made.map(({ taskId, reward }) => ({
      trajectoryId: `0/expert/${taskId}/0`,
      taskId,
      reward,
      actions: [`do ${taskId}`],
    })),
  );

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });

/** What must hold of every pairing, whoever trains on it. */
function expectSound(result: PairingResult, sides: ReadonlyMap<string, { taskId: string; reward: number }>): void {
  const keys = result.pairs.map(({ kind, chosenId, rejectedId }) => `${kind} ${chosenId} ${rejectedId}`);
  expect(new Set(keys).size).toBe(keys.length);
  for (const pair of result.pairs) {
    const [chosen, rejected] = [sides.get(pair.chosenId)!, sides.get(pair.rejectedId)!];
    expect([chosen.taskId, rejected.taskId]).toEqual([pair.taskId, pair.taskId]);
    expect([pair.chosenReward, pair.rejectedReward]).toEqual([chosen.reward, rejected.reward]);
    expect(chosen.reward).toBeGreaterThan(rejected.reward);
    expect(pair.hardNegative && isSuccess(rejected.reward)).toBe(false);
  }
  expect(result.dropped.every(({ count }) => count > 0)).toBe(true);
}

function expectWithin(result: PairingResult, kind: PairKind, settings: PairKindSettings): void {
  const pairs = result.pairs.filter((pair) => pair.kind === kind);
  if (!settings.enabled) expect([pairs, result.dropped.filter((drop) => drop.kind === kind)]).toEqual([[], []]);
  expect(pairs.length).toBeLessThanOrEqual(settings.maxPairs ?? Infinity);
  const perTask = new Map<string, number>();
  for (const { taskId } of pairs) perTask.set(taskId, (perTask.get(taskId) ?? 0) + 1);
  expect(Math.max(0, ...perTask.values())).toBeLessThanOrEqual(settings.maxPairsPerTask ?? Infinity);
  for (const { lambdaDpo, lambdaSft } of pairs)
    expect({ lambdaDpo, lambdaSft }).toEqual({ lambdaDpo: settings.lambdaDpo, lambdaSft: settings.lambdaSft });
}

const sidesOf = (
  ...lists: readonly (readonly { trajectoryId: string; taskId: string; reward: number }[])[]
): ReadonlyMap<string, { taskId: string; reward: number }> =>
  new Map(lists.flat().map((side) => [side.trajectoryId, side]));

const oneIteration = attemptLists.map((attempts) => attempts.filter(({ iteration }) => iteration === 1));

test("the target's pairs are sound, within their limits, and independent of the order of attempts", () => {
  const inputs = oneIteration.chain((attempts) => fc.tuple(fc.constant(attempts), reordered(attempts)));
  const property = fc.property(
    inputs,
    experts,
    targetSettings,
    seeds,
    ([attempts, shuffled], known, settings, seed) => {
      const result = pairForTarget({ attempts, experts: known, seed }, settings);
      expectSound(result, sidesOf(attempts, known));
      for (const kind of pairKinds) expectWithin(result, kind, settings.kinds[kind]);
      expect(pairForTarget({ attempts: shuffled, experts: known, seed }, settings)).toEqual(result);
    },
  );
  fc.assert(property, { numRuns });
});

test("the failure agent's pairs are two failures, sound, within their limits, and independent of the order", () => {
  const inputs = oneIteration.chain((attempts) => fc.tuple(fc.constant(attempts), reordered(attempts)));
  const property = fc.property(inputs, failureSettings, seeds, ([attempts, shuffled], settings, seed) => {
    const result = pairForFailureAgent({ attempts, seed }, settings);
    expectSound(result, sidesOf(attempts));
    expectWithin(result, 'failure-failure', settings);
    for (const { chosenReward, kind } of result.pairs)
      expect([kind, isSuccess(chosenReward)]).toEqual(['failure-failure', false]);
    expect(pairForFailureAgent({ attempts: shuffled, seed }, settings)).toEqual(result);
  });
  fc.assert(property, { numRuns });
});

test('every candidate is a pair or is counted as dropped for one reason', () => {
  const open = (kind: PairKindSettings): PairKindSettings => ({ ...kind, enabled: true });
  const all = { ...defaultTargetPairSettings, kinds: mapKinds(defaultTargetPairSettings.kinds, open) };
  const property = fc.property(oneIteration, experts, limit, seeds, (attempts, known, maxPairs, seed) => {
    const settings = { ...all, kinds: mapKinds(all.kinds, (kind) => ({ ...kind, maxPairs })) };
    const { pairs, dropped } = pairForTarget({ attempts, experts: known, seed }, settings);
    const counted = pairs.length + dropped.reduce((sum, { count }) => sum + count, 0);
    expect(counted).toBe(attempts.length + crossings(attempts)); // at most one expert per task
  });
  fc.assert(property, { numRuns });
});

const mapKinds = (
  kinds: TargetPairSettings['kinds'],
  change: (kind: PairKindSettings) => PairKindSettings,
): TargetPairSettings['kinds'] =>
  Object.fromEntries(pairKinds.map((kind) => [kind, change(kinds[kind])])) as TargetPairSettings['kinds'];

/** F_tgt x F_fail of each task. */
function crossings(attempts: readonly ScoredAttempt[]): number {
  const failures = attempts.filter(({ reward }) => !isSuccess(reward));
  const ofRole = (role: ScoredAttempt['role']) => failures.filter((attempt) => attempt.role === role);
  return ofRole('target').flatMap(({ taskId }) => ofRole('failure').filter((other) => other.taskId === taskId)).length;
}
