import {
  type PairKind,
  type FailurePairSettings,
  type PairKindSettings,
  type TargetPairSettings,
  pairKinds,
} from './pair-settings';
import type { AgentRole } from '../base/roles';
import { groupBy } from '../base/group-by';
import { compareText } from '../base/compare-text';
import { requireSetting } from '../base/errors';
import { deriveSeed } from '../base/seed-tree';
import { isSuccess, type ScoredAttempt } from '../rollout/trajectory';

/** One side of a candidate: an attempt or an expert trajectory. */
export type PairSide = Pick<ScoredAttempt, 'trajectoryId' | 'taskId' | 'reward' | 'actions'>;

/** Two trajectories of one task that may become a pair, or an attempt that found no counterpart. */
export type PairCandidate = {
  kind: PairKind;
  /** The expert in expert kinds. */
  first: PairSide | null;
  second: PairSide;
};

export type PairSelection = Pick<TargetPairSettings, 'forRole' | 'expertBeaten' | 'dropSameActions'> &
  Pick<FailurePairSettings, 'hardNegativeReward'> & { seed: number; kinds: Record<PairKind, PairKindSettings> };

/**
 * Turns candidates into pairs, oriented by reward, and counts why the others were dropped.
 *
 * Rules apply in this order: expert present, no tie, expert better, no repeated actions, cap per task, quota. Cap
 * and quota keep the candidates whose derived seeds are smallest: a uniform choice that depends on ids and seed alone,
 * and a smaller quota keeps a subset of what a larger one keeps.
 *
 * @param candidates no two with the same trajectories, in any order
 * @returns          pairs by kind, task, chosen and rejected id
 * @throws DomainError `InvalidSetting`, `InvalidSeed`
 */
export function selectPairs(candidates: readonly PairCandidate[], selection: PairSelection): PairingResult {
  const { hardNegativeReward } = selection;
  requireSetting(
    hardNegativeReward >= 0 && hardNegativeReward <= 1,
    'hardNegativeReward',
    'in [0, 1]',
    hardNegativeReward,
  );
  const result: PairingResult = { pairs: [], dropped: [] };
  for (const kind of pairKinds) {
    const settings = selection.kinds[kind];
    requireKindSettings(kind, settings);
    if (!settings.enabled) continue;
    const drops = new Map<DropReason, number>();
    const drop = (reason: DropReason, count = 1): void => void drops.set(reason, (drops.get(reason) ?? 0) + count);

    const ofKind = candidates.filter((candidate) => candidate.kind === kind);
    const oriented = ofKind.flatMap((candidate) => orient(candidate, selection, drop)).sort(byIds);
    const distinct = selection.dropSameActions ? withoutRepeats(oriented, drop) : oriented;
    const kept = withinLimits(distinct, kind, { ...settings, seed: selection.seed, drop });
    result.pairs.push(...kept.map((pair) => toPreferencePair(pair, kind, selection)));
    result.dropped.push(...[...drops].map(([reason, count]) => ({ kind, reason, count })));
  }
  return result;
}

type Drop = (reason: DropReason, count?: number) => void;
type Oriented = { chosen: PairSide; rejected: PairSide };

function orient({ kind, first, second }: PairCandidate, { expertBeaten }: PairSelection, drop: Drop): Oriented[] {
  if (!first) drop('no-expert');
  else if (first.reward === second.reward) drop('tie');
  else if (first.reward > second.reward) return [{ chosen: first, rejected: second }];
  else if (kind !== 'failure-failure' && expertBeaten === 'drop') drop('expert-not-better');
  else return [{ chosen: second, rejected: first }];
  return [];
}

function byIds(a: Oriented, b: Oriented): number {
  return (
    compareText(a.chosen.taskId, b.chosen.taskId) ||
    compareText(a.chosen.trajectoryId, b.chosen.trajectoryId) ||
    compareText(a.rejected.trajectoryId, b.rejected.trajectoryId)
  );
}

function withoutRepeats(pairs: readonly Oriented[], drop: Drop): Oriented[] {
  const seen = new Set<string>();
  return pairs.filter(({ chosen, rejected }) => {
    const [good, bad] = [JSON.stringify(chosen.actions), JSON.stringify(rejected.actions)];
    const key = JSON.stringify([chosen.taskId, good, bad]);
    const repeats = good === bad || seen.has(key);
    seen.add(key);
    if (repeats) drop('same-actions');
    return !repeats;
  });
}

function withinLimits(
  pairs: readonly Oriented[],
  kind: PairKind,
  { maxPairs, maxPairsPerTask, seed, drop }: PairKindSettings & { seed: number; drop: Drop },
): Oriented[] {
  const perTask = groupBy(pairs, ({ chosen }) => chosen.taskId).values();
  const capped = [...perTask].flatMap((ofTask) =>
    smallest(ofTask, maxPairsPerTask, deriveSeed(seed, 'task-cap', kind)),
  );
  const kept = smallest(capped, maxPairs, deriveSeed(seed, 'quota', kind));
  if (capped.length < pairs.length) drop('task-cap', pairs.length - capped.length);
  if (kept.length < capped.length) drop('quota', capped.length - kept.length);
  return kept;
}

/** The `limit` pairs whose derived seeds are smallest, in their given order. */
function smallest(pairs: readonly Oriented[], limit: number | null, seed: number): Oriented[] {
  if (limit === null || pairs.length <= limit) return [...pairs];
  const ranked = pairs
    .map((pair) => ({ pair, rank: deriveSeed(seed, pair.chosen.trajectoryId, pair.rejected.trajectoryId) }))
    .sort((a, b) => a.rank - b.rank || byIds(a.pair, b.pair));
  return ranked
    .slice(0, limit)
    .map(({ pair }) => pair)
    .sort(byIds);
}

function toPreferencePair({ chosen, rejected }: Oriented, kind: PairKind, selection: PairSelection): PreferencePair {
  const { lambdaDpo, lambdaSft } = selection.kinds[kind];
  return {
    forRole: selection.forRole,
    kind,
    taskId: chosen.taskId,
    chosenId: chosen.trajectoryId,
    rejectedId: rejected.trajectoryId,
    chosenReward: chosen.reward,
    rejectedReward: rejected.reward,
    lambdaDpo,
    lambdaSft,
    hardNegative: isHardNegative(rejected.reward, selection.hardNegativeReward),
  };
}

/** A near-success: below success, at or above the threshold. */
export function isHardNegative(reward: number, threshold: number): boolean {
  return !isSuccess(reward) && reward >= threshold;
}

function requireKindSettings(
  kind: PairKind,
  { maxPairs, maxPairsPerTask, lambdaDpo, lambdaSft }: PairKindSettings,
): void {
  for (const [name, limit] of Object.entries({ maxPairs, maxPairsPerTask }))
    requireSetting(
      limit === null || (Number.isInteger(limit) && limit >= 0),
      `${kind}.${name}`,
      'null or an integer >= 0',
      limit,
    );
  for (const [name, weight] of Object.entries({ lambdaDpo, lambdaSft }))
    requireSetting(Number.isFinite(weight) && weight >= 0, `${kind}.${name}`, 'a number >= 0', weight);
}

/** Two trajectories of one task, the first with the strictly higher reward, and their weight in the loss. */
export type PreferencePair = {
  /** The agent that trains on the pair. */
  forRole: AgentRole;
  kind: PairKind;
  taskId: string;
  chosenId: string;
  rejectedId: string;
  chosenReward: number;
  rejectedReward: number;
  /** Weight of the pair's DPO term. */
  lambdaDpo: number;
  /** Weight of the negative log-likelihood of the chosen trajectory. */
  lambdaSft: number;
  /** The rejected trajectory is a near-success: a failure at or above the settings' threshold. */
  hardNegative: boolean;
};

/**
 * Why a candidate did not become a pair.
 *
 * - `tie`: both have the same reward
 * - `no-expert`: the attempt's task has no expert trajectory (counted once per attempt)
 * - `expert-not-better`: the attempt beats the expert and the settings do not flip such pairs
 * - `same-actions`: the two took the same actions, or another candidate pairs the same actions
 * - `task-cap`: the task already gives this kind as many pairs as the settings allow
 * - `quota`: the kind has as many pairs as the settings allow
 */
export type DropReason = 'tie' | 'no-expert' | 'expert-not-better' | 'same-actions' | 'task-cap' | 'quota';

/** Every candidate is in exactly one place: in `pairs`, or counted in `dropped` (which lists no zero counts). */
export type PairingResult = {
  pairs: PreferencePair[];
  dropped: { kind: PairKind; reason: DropReason; count: number }[];
};
