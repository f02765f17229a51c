import { distinctAttempts, type AttemptResult } from '../rollout/trajectory';
import type { FeedbackSignal } from './feedback-signal';
import { groupBy } from '../group-by';
import { compareText } from '../compare-text';
import { requireSetting } from '../errors';

export type BoundarySettings = {
  enabled: boolean;
  /** In [0, 1], 0.5 in the formula. Strict on both sides: a reward equal to it is neither success nor failure. */
  threshold: number;
};

export const defaultBoundarySettings: BoundarySettings = { enabled: true, threshold: 0.5 };

/**
 * Marks all attempts of one policy at one task in one iteration when they disagree:
 *
 *   exists i, j : R_i > 0.5   and   R_j < 0.5
 *
 * Source: arXiv:2604.15840, section 3.1. With success probability p the signal is raised with probability
 * 1 - p^K - (1-p)^K, so more attempts raise more signals: at p = 0.05, 0.19 for K = 4 and 0.34 for K = 8.
 *
 * The strength counts all attempts of an agent at the task in the iteration. Within reinforcement learning a task has a
 * group per step that plays it, and one of several groups is half solved by chance at nearly every task.
 *
 * @param current attempts to mark, in any order
 * @returns       at most one signal per trajectory, sorted by trajectory id
 * @throws DomainError `InvalidSetting`, `InvalidReward`, `ConflictingTrajectory`
 */
export function detectBoundary(current: readonly AttemptResult[], settings: BoundarySettings): FeedbackSignal[] {
  const { enabled, threshold } = settings;
  requireSetting(threshold >= 0 && threshold <= 1, 'boundary.threshold', 'in [0, 1]', threshold);
  if (!enabled) return [];

  const atTasks = groupBy(distinctAttempts(current), ({ taskId, iteration, role }) =>
    JSON.stringify([taskId, iteration, role]),
  );
  return [...atTasks.values()]
    .flatMap((atTask) => {
      const strength = strengthOf(countsOf(atTask, threshold));
      const groups = groupBy(atTask, ({ policyId }) => policyId);
      return [...groups.values()].flatMap((group) => markMixed(group, threshold, strength));
    })
    .sort((a, b) => compareText(a.trajectoryId, b.trajectoryId));
}

function markMixed(group: readonly AttemptResult[], threshold: number, strength: number): FeedbackSignal[] {
  const { above, below } = countsOf(group, threshold);
  if (above === 0 || below === 0) return [];
  return group.map(({ taskId, trajectoryId, reward }) => ({
    kind: 'boundary',
    taskId,
    trajectoryId,
    strength,
    detail: { reward, above, below, attempts: group.length },
  }));
}

type Counts = { above: number; below: number };

const countsOf = (attempts: readonly AttemptResult[], threshold: number): Counts => ({
  above: attempts.filter(({ reward }) => reward > threshold).length,
  below: attempts.filter(({ reward }) => reward < threshold).length,
});

/** 1 where half of the attempts succeed. */
const strengthOf = ({ above, below }: Counts): number => 1 - Math.abs(above - below) / (above + below);
