import { DomainError } from '../base/errors';
import { compareText } from '../base/compare-text';
import type { AgentRole } from '../base/roles';

/** How an attempt ended. Only `scored` ones reach signals, pairs or evaluation: a fault is never a reward of 0. */
export type Outcome = 'scored' | 'environment-fault' | 'policy-fault' | 'time-limit' | 'cancelled';

export const outcomes: readonly Outcome[] = ['scored', 'environment-fault', 'policy-fault', 'time-limit', 'cancelled'];

export type TaskSplit = 'train' | 'held-out';

/** Purpose of an attempt. */
export type Purpose = 'train' | 'evaluation' | 'expert' | 'validation';

export const purposes: readonly Purpose[] = ['train', 'evaluation', 'expert', 'validation'];

/** What signals and pairs need of a stored, scored attempt. */
export type ScoredAttempt = {
  trajectoryId: string;
  taskId: string;
  /** Kind of task, for a forgetting window shared by all tasks of a kind; the environment's grouping. */
  taskType?: string;
  iteration: number;
  /** Which of the K attempts at this task in this iteration, from 0. */
  attempt: number;
  policyId: string;
  role: AgentRole;
  /** In [0, 1]. */
  reward: number;
  /** What the policy wrote, step by step. */
  actions: readonly string[];
};

/** Success is a reward of exactly 1; everything below is a failure (arXiv:2511.22254, section 3.1). */
export function isSuccess(reward: number): boolean {
  return reward >= 1;
}

/** What experts and attempts share. */
type Scored = Pick<ScoredAttempt, 'trajectoryId' | 'taskId' | 'reward'>;

/**
 * The attempts sorted by id, each once: whatever is computed from them depends neither on the order in which they
 * were stored nor on reading one twice.
 *
 * @throws DomainError `InvalidReward` for a reward outside [0, 1]; `ConflictingTrajectory` when one id stands for
 *   different rewards or tasks
 */
export function distinctAttempts<T extends Scored>(attempts: readonly T[]): T[] {
  const byId = new Map<string, T>();
  for (const attempt of attempts) {
    const { trajectoryId, taskId, reward } = attempt;
    if (!(reward >= 0 && reward <= 1))
      throw new DomainError('InvalidReward', `the reward of ${trajectoryId} must lie in [0, 1], got ${reward}`);
    const known = byId.get(trajectoryId);
    if (known && (known.reward !== reward || known.taskId !== taskId))
      throw new DomainError('ConflictingTrajectory', `${trajectoryId} was given twice, with different content`);
    byId.set(trajectoryId, known ?? attempt);
  }
  return [...byId.values()].sort((a, b) => compareText(a.trajectoryId, b.trajectoryId));
}
