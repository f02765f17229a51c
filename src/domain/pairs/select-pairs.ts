import { compareText } from '../compare-text';
import { requireSetting } from '../errors';
import { groupBy } from '../group-by';
import type { AgentRole } from '../roles';
import { deriveSeed } from '../random/seed-tree';
import { isSuccess, type ScoredAttempt } from '../rollout/trajectory';
import {
  pairKinds,
  type PairKind,
  type PairKindSettings,
  type RewardRange,
  type TargetPairSettings,
} from './pair-settings';

/** One side of a candidate: an attempt or an expert trajectory. */
export type PairSide = Pick<ScoredAttempt, 'trajectoryId' | 'taskId' | 'reward' | 'actions'>;

/** Two trajectories of one task that may become a pair, or an attempt without a counterpart. */
export type PairCandidate = {
  kind: PairKind;
  /** The expert in expert kinds; null for a task without expert. */
  first: PairSide | null;
  second: PairSide;
};

export type PairSelection = Omit<TargetPairSettings, 'kinds'> & {
  /** In [0, 2^31). */
  seed: number;
  /** Candidates of absent kinds are ignored. */
  kinds: Partial<Record<PairKind, PairKindSettings>>;
};

/** Two trajectories of one task, the chosen one with the strictly higher reward, and their weights in the loss. */
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
  /** True if the rejected trajectory is a near-success: a failure with at least the settings' reward. */
  hardNegative: boolean;
};

/**
 * Reason why a candidate did not become a pair.
 *
 * - `tie`: both sides have the same reward
 * - `no-expert`: the attempt's task has no expert trajectory (counted once per attempt)
 * - `expert-not-better`: the attempt has the higher reward and the settings drop such pairs
 * - `reward-range`: the reward of the rejected side is outside of the kind's range
 * - `same-actions`: both sides have the same actions, or another candidate of the task and kind has the same two sequences
 * - `other-kind`: an earlier kind of `pairKinds` has kept a pair of the task with the same two sequences of actions, so a
 *   mistake that both agents make is counted once, as the target's
 * - `task-cap`: the task has the maximum number of pairs of this kind
 * - `quota`: the kind has the maximum number of pairs
 */
export type DropReason =
  | 'tie'
  | 'no-expert'
  | 'expert-not-better'
  | 'reward-range'
  | 'same-actions'
  | 'other-kind'
  | 'task-cap'
  | 'quota';

/** Every candidate is either in `pairs` or counted in `dropped`, which has no zero counts. */
export type PairingResult = {
  pairs: PreferencePair[];
  dropped: { kind: PairKind; reason: DropReason; count: number }[];
};

/**
 * Turns candidates into pairs, oriented by reward, and counts the dropped candidates by reason.
 *
 * The rules apply in this order: expert present, no tie, expert better, reward in range, no repeated actions, no pair of another kind, cap
 * per task, quota. Cap and quota keep the candidates with the smallest derived seeds: a uniform choice that depends only
 * on ids and seed, and a smaller quota keeps a subset of the kind's pairs under a larger quota.
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
  const keptActions = new Set<string>();
  for (const kind of pairKinds) {
    const settings = selection.kinds[kind];
    if (settings) requireKindSettings(kind, settings);
    if (!settings?.enabled) continue;
    const counts = new Map<DropReason, number>();
    const drop = (reason: DropReason, count = 1): void => void counts.set(reason, (counts.get(reason) ?? 0) + count);

    const oriented = candidates
      .filter((candidate) => candidate.kind === kind)
      .flatMap((candidate) => orient(candidate, { ...selection, range: settings.reward }, drop))
      .sort(compareIds);
    const distinct = selection.dropSameActions ? dropRepeats(oriented, keptActions, drop) : oriented;
    const kept = applyLimits(distinct, kind, { ...settings, seed: selection.seed, drop });
    for (const pair of kept) keptActions.add(actionsOf(pair));
    result.pairs.push(...kept.map((pair) => toPreferencePair(pair, kind, settings, selection)));
    result.dropped.push(...[...counts].map(([reason, count]) => ({ kind, reason, count })));
  }
  return result;
}

type Drop = (reason: DropReason, count?: number) => void;
type OrientedPair = { chosen: PairSide; rejected: PairSide };

function orient(
  { kind, first, second }: PairCandidate,
  { expertBeaten, range }: PairSelection & { range: RewardRange },
  drop: Drop,
): OrientedPair[] {
  if (!first) drop('no-expert');
  else if (first.reward === second.reward) drop('tie');
  else {
    const isFirstBetter = first.reward > second.reward;
    const [chosen, rejected] = isFirstBetter ? [first, second] : [second, first];
    if (!isFirstBetter && kind !== 'failure-failure' && expertBeaten === 'drop') drop('expert-not-better');
    else if (!isInRange(rejected.reward, range)) drop('reward-range');
    else return [{ chosen, rejected }];
  }
  return [];
}

const isInRange = (reward: number, { low, high }: RewardRange): boolean => low <= reward && reward < high;

function compareIds(a: OrientedPair, b: OrientedPair): number {
  return (
    compareText(a.chosen.taskId, b.chosen.taskId) ||
    compareText(a.chosen.trajectoryId, b.chosen.trajectoryId) ||
    compareText(a.rejected.trajectoryId, b.rejected.trajectoryId)
  );
}

function dropRepeats(pairs: readonly OrientedPair[], ofOtherKinds: ReadonlySet<string>, drop: Drop): OrientedPair[] {
  const seen = new Set<string>();
  return pairs.filter((pair) => {
    const key = actionsOf(pair);
    const areSidesEqual = JSON.stringify(pair.chosen.actions) === JSON.stringify(pair.rejected.actions);
    const reason = areSidesEqual || seen.has(key) ? 'same-actions' : ofOtherKinds.has(key) ? 'other-kind' : null;
    seen.add(key);
    if (reason) drop(reason);
    return !reason;
  });
}

const actionsOf = ({ chosen, rejected }: OrientedPair): string =>
  JSON.stringify([chosen.taskId, chosen.actions, rejected.actions]);

function applyLimits(
  pairs: readonly OrientedPair[],
  kind: PairKind,
  { maxPairs, maxPairsPerTask, seed, drop }: PairKindSettings & { seed: number; drop: Drop },
): OrientedPair[] {
  const perTask = groupBy(pairs, ({ chosen }) => chosen.taskId).values();
  const capped = [...perTask].flatMap((ofTask) => sample(ofTask, maxPairsPerTask, deriveSeed(seed, 'task-cap', kind)));
  const kept = sample(capped, maxPairs, deriveSeed(seed, 'quota', kind));
  if (capped.length < pairs.length) drop('task-cap', pairs.length - capped.length);
  if (kept.length < capped.length) drop('quota', capped.length - kept.length);
  return kept;
}

/** Returns the `limit` pairs with the smallest derived seeds, in the order of their ids. */
function sample(pairs: readonly OrientedPair[], limit: number | null, seed: number): OrientedPair[] {
  if (limit === null || pairs.length <= limit) return [...pairs];
  const ranked = pairs
    .map((pair) => ({ pair, rank: deriveSeed(seed, pair.chosen.trajectoryId, pair.rejected.trajectoryId) }))
    .sort((a, b) => a.rank - b.rank || compareIds(a.pair, b.pair));
  return ranked
    .slice(0, limit)
    .map(({ pair }) => pair)
    .sort(compareIds);
}

function toPreferencePair(
  { chosen, rejected }: OrientedPair,
  kind: PairKind,
  { lambdaDpo, lambdaSft }: PairKindSettings,
  selection: PairSelection,
): PreferencePair {
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

/** True for a near-success: a failure with at least `threshold` as reward. */
export function isHardNegative(reward: number, threshold: number): boolean {
  return !isSuccess(reward) && reward >= threshold;
}

function requireKindSettings(
  kind: PairKind,
  { reward, maxPairs, maxPairsPerTask, lambdaDpo, lambdaSft }: PairKindSettings,
): void {
  requireSetting(
    reward.low >= 0 && reward.low < reward.high && reward.high <= 1,
    `${kind}.reward`,
    '0 <= low < high <= 1',
    `${reward.low} to ${reward.high}`,
  );
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
