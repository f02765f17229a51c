import type { AttemptResult } from '../rollout/trajectory';
import type { PatternExtractor } from './action-pattern';
import type { PatternCount } from './pattern-counts';
import type { FeedbackSignal } from './feedback-signal';
import { compareText } from '../compare-text';
import { groupBy } from '../group-by';
import { requireSetting } from '../errors';

export type RareSettings = {
  enabled: boolean;
  /** Theta, in percent of N, in (0, 100]; 5 in the paper's example. */
  thetaPercent: number;
  /**
   * N_min, >= 1: no pattern is rare before N reaches it. The paper gives no value. Default 100: below 100 / theta = 20 no
   * count can be under theta, and from 100 on a pattern with up to four occurrences is rare, not only a single occurrence.
   */
  minTotal: number;
  /**
   * Minimum number of trajectories with a rare pattern: 1 is the formula's c_p > 0, which also marks single occurrences;
   * 2 follows the text of the paper, "recur across multiple trajectories".
   */
  minCount: number;
  /** Extraction of patterns, which the paper does not define. */
  pattern: PatternExtractor;
  /**
   * Unit of c_p and N. `patterns`: occurrences of p among all occurrences of patterns, as in the paper. `trajectories`:
   * trajectories with p among all trajectories.
   */
  countUnit: 'patterns' | 'trajectories';
  /**
   * Patterns that count: those that occurred in an attempt with a reward of at least 0.5 (`rewarded`), because a rare
   * mistake is not worth practising, or `all`, as in the formula.
   */
  among: 'rewarded' | 'all';
  /**
   * `tail`: a pattern is rare if all rarer ones together make less than theta of N, so that about theta of N is rare, and
   * if another one is more common: in a world with one pattern none is rare.
   * `share`: c_p / N < theta, as in the formula; where many patterns occur, nearly every one of them is that rare.
   */
  measure: 'tail' | 'share';
};

export const defaultRareSettings: RareSettings = {
  enabled: true,
  thetaPercent: 5,
  minTotal: 100,
  minCount: 1,
  pattern: 'bigram',
  countUnit: 'patterns',
  among: 'rewarded',
  measure: 'tail',
};

/** An attempt with its distinct patterns. */
export type PatternedAttempt = AttemptResult & { patterns: readonly string[] };

type UnitCount = { count: number; trajectories: number };

/** Counts of all patterns in the unit of the settings. */
export type Rarity = {
  /** N. */
  total: number;
  byPattern: ReadonlyMap<string, UnitCount>;
  /** Sum of the counts of all patterns with a lower count, and of those with this count. */
  massOf: ReadonlyMap<number, { rarer: number; equal: number }>;
  /** Sum of all counts. */
  mass: number;
};

/**
 * Returns the counts by which patterns are rare.
 *
 * @param patterns the patterns of all attempts up to the current iteration, each once
 * @param attempts number of these attempts
 * @throws DomainError `InvalidSetting`
 */
export function rarityOf(patterns: Iterable<PatternCount>, attempts: number, settings: RareSettings): Rarity {
  requireRareSettings(settings);
  const { countUnit, among } = settings;
  const byPattern = new Map<string, UnitCount>();
  for (const { pattern, count, trajectories, rewarded } of patterns)
    if (rewarded || among === 'all')
      byPattern.set(pattern, { count: countUnit === 'patterns' ? count : trajectories, trajectories });

  const counts = [...byPattern.values()].map(({ count }) => count).sort((a, b) => a - b);
  const massOf = new Map<number, { rarer: number; equal: number }>();
  let mass = 0;
  for (const [count, same] of groupBy(counts, (value) => value)) {
    massOf.set(count, { rarer: mass, equal: count * same.length });
    mass += count * same.length;
  }
  return { total: countUnit === 'patterns' ? mass : attempts, byPattern, massOf, mass };
}

/**
 * Marks attempts with a rare action pattern:
 *
 *   N >= N_min   and   c_p / N < theta / 100   and   c_p > 0
 *
 * Source: arXiv:2604.15840, section 3.1. c_p and N are cumulative over the campaign: sums of the counts of all iterations up
 * to the current one, each of which is counted once. The attempts of all agents are counted together. The strength is the
 * share of N that is more common, with half of the equally common.
 *
 * @param current attempts to mark
 * @returns       at most one signal per trajectory, for its rarest pattern, in the order of `current`
 */
export function detectRare(
  current: readonly PatternedAttempt[],
  rarity: Rarity,
  settings: RareSettings,
): FeedbackSignal[] {
  return current.flatMap((attempt) => markRare(attempt, rarity, settings));
}

/** Returns whether attempts with this pattern are marked. */
export function isRare(pattern: string, rarity: Rarity, settings: RareSettings): boolean {
  const { enabled, minTotal, minCount, measure, thetaPercent } = settings;
  const found = rarity.byPattern.get(pattern);
  if (!enabled || rarity.total < minTotal || !found || found.trajectories < minCount) return false;
  if (measure === 'share') return found.count * 100 < thetaPercent * rarity.total;
  const { rarer, equal } = rarity.massOf.get(found.count)!;
  return rarer * 100 < thetaPercent * rarity.mass && rarer + equal < rarity.mass;
}

function markRare(
  { taskId, trajectoryId, patterns }: PatternedAttempt,
  rarity: Rarity,
  settings: RareSettings,
): FeedbackSignal[] {
  const { total, byPattern, massOf, mass } = rarity;
  const rare = patterns
    .filter((pattern) => isRare(pattern, rarity, settings))
    .map((pattern) => ({ pattern, ...byPattern.get(pattern)! }))
    .sort((a, b) => a.count - b.count || compareText(a.pattern, b.pattern));
  const [rarest] = rare;
  if (!rarest) return [];
  const { rarer, equal } = massOf.get(rarest.count)!;
  const strength = 1 - (rarer + equal / 2) / mass;
  return [{ kind: 'rare', taskId, trajectoryId, strength, detail: { ...rarest, total, rarePatterns: rare.length } }];
}

function requireRareSettings({ thetaPercent, minTotal, minCount }: RareSettings): void {
  requireSetting(thetaPercent > 0 && thetaPercent <= 100, 'rare.thetaPercent', 'in (0, 100]', thetaPercent);
  requireSetting(Number.isInteger(minTotal) && minTotal >= 1, 'rare.minTotal', 'an integer >= 1', minTotal);
  requireSetting(Number.isInteger(minCount) && minCount >= 1, 'rare.minCount', 'an integer >= 1', minCount);
}
