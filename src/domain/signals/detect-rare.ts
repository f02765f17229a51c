import { actionPatterns, type PatternExtractor } from './action-pattern';
import { distinctAttempts, type ScoredAttempt } from '../rollout/trajectory';
import type { FeedbackSignal } from './feedback-signal';
import { compareText } from '../base/compare-text';
import { requireSetting } from '../base/errors';

export type RareSettings = {
  enabled: boolean;
  /** Theta, in percent of N, in (0, 100]. The paper's example, 5. */
  thetaPercent: number;
  /**
   * N_min: nothing is rare before N reaches it, >= 1. The paper gives none. Default 100: below 100 / theta = 20 no
   * count can be under theta, and at 100 a pattern seen up to four times is rare, not only one seen once.
   */
  minTotal: number;
  /**
   * Trajectories that must hold a pattern before it can be rare: 1 is the formula's c_p > 0, which also flags
   * one-offs; 2 is the prose, "recur across multiple trajectories".
   */
  minCount: number;
  /** What a pattern is, which the paper leaves open; see `actionPatterns`. */
  pattern: PatternExtractor;
  /**
   * What c_p and N count. `patterns`: occurrences, N being all patterns seen (the paper's words). `trajectories`:
   * trajectories that hold p, N being all trajectories.
   */
  countUnit: 'patterns' | 'trajectories';
};

export const defaultRareSettings: RareSettings = {
  enabled: true,
  thetaPercent: 5,
  minTotal: 100,
  minCount: 1,
  pattern: 'bigram',
  countUnit: 'patterns',
};

/**
 * Marks the attempts that hold a rare action pattern:
 *
 *   N >= N_min   and   c_p / N < theta / 100   and   c_p > 0
 *
 * Source: arXiv:2604.15840, section 3.1. c_p and N are cumulative over the campaign and are counted here, from all
 * attempts up to the judged ones' iteration: nothing is stored, so a replayed batch cannot count twice. All agents
 * given are counted together.
 *
 * @param current attempts to judge, in any order
 * @param history attempts stored so far, in any order; may hold `current`; those of later iterations do not count
 * @returns       at most one signal per trajectory, for its rarest pattern, by trajectory id
 * @throws DomainError `InvalidSetting`, `InvalidReward`, `ConflictingTrajectory`
 */
export function detectRare(
  current: readonly ScoredAttempt[],
  history: readonly ScoredAttempt[],
  settings: RareSettings,
): FeedbackSignal[] {
  requireRareSettings(settings);
  if (!settings.enabled) return [];

  const judged = distinctAttempts(current);
  const latest = judged.reduce((max, { iteration }) => Math.max(max, iteration), -Infinity);
  const seen = distinctAttempts([...history, ...current]).filter(({ iteration }) => iteration <= latest);
  const census = countPatterns(seen, settings);
  if (census.total < settings.minTotal) return [];
  return judged.flatMap((attempt) => markRare(attempt, census, settings));
}

type PatternCount = { count: number; trajectories: number };
type Census = { total: number; counts: ReadonlyMap<string, PatternCount> };

function countPatterns(attempts: readonly ScoredAttempt[], { pattern, countUnit }: RareSettings): Census {
  const counts = new Map<string, PatternCount>();
  let total = 0;
  for (const { actions } of attempts) {
    const all = actionPatterns(actions, pattern);
    const distinct = new Set(all);
    total += countUnit === 'patterns' ? all.length : 1;
    for (const p of distinct) {
      const { count, trajectories } = counts.get(p) ?? { count: 0, trajectories: 0 };
      const added = countUnit === 'patterns' ? all.filter((other) => other === p).length : 1;
      counts.set(p, { count: count + added, trajectories: trajectories + 1 });
    }
  }
  return { total, counts };
}

function markRare(attempt: ScoredAttempt, { total, counts }: Census, settings: RareSettings): FeedbackSignal[] {
  const rare = [...new Set(actionPatterns(attempt.actions, settings.pattern))]
    .map((pattern) => ({ pattern, ...(counts.get(pattern) ?? { count: 0, trajectories: 0 }) }))
    .filter(({ trajectories }) => trajectories >= settings.minCount)
    .filter(({ count }) => count * 100 < settings.thetaPercent * total)
    .sort((a, b) => a.count - b.count || compareText(a.pattern, b.pattern));
  const [rarest] = rare;
  if (!rarest) return [];
  const { taskId, trajectoryId } = attempt;
  return [{ kind: 'rare', taskId, trajectoryId, detail: { ...rarest, total, rarePatterns: rare.length } }];
}

function requireRareSettings({ thetaPercent, minTotal, minCount }: RareSettings): void {
  requireSetting(thetaPercent > 0 && thetaPercent <= 100, 'rare.thetaPercent', 'in (0, 100]', thetaPercent);
  requireSetting(Number.isInteger(minTotal) && minTotal >= 1, 'rare.minTotal', 'an integer >= 1', minTotal);
  requireSetting(Number.isInteger(minCount) && minCount >= 1, 'rare.minCount', 'an integer >= 1', minCount);
}
