import { compareText } from '../compare-text';
import { DomainError } from '../errors';
import type { AgentRole } from '../roles';

/**
 * End of an attempt. Only `scored` attempts reach signals, pairs and evaluations: a fault is never a reward of 0, and
 * neither is an attempt without a turn, which is `unplayable` because its first prompt exceeds the policy's context.
 */
export type Outcome = 'scored' | 'environment-fault' | 'policy-fault' | 'time-limit' | 'cancelled' | 'unplayable';

export type TaskSplit = 'train' | 'held-out';

/**
 * Purpose of an attempt. `evaluation` plays the set dev, which the promotion gate reads; `test` plays the sets that are
 * only reported. In `solving` a language model plays a candidate of which it sees the query alone.
 */
export type Purpose = 'train' | 'evaluation' | 'test' | 'expert' | 'validation' | 'solving';

/** Returns whether only tasks with reference actions are played: these are replayed, or a solver is compared with them. */
export const needsReferences = (purpose: Purpose): boolean => ['expert', 'validation', 'solving'].includes(purpose);

/** True for attempts that measure a policy, with the settings of evaluations. */
export const isMeasurement = (purpose: Purpose): boolean => purpose === 'evaluation' || purpose === 'test';

/** Attempts that an activity brings to its worker: enough to make its start cheap, few enough to spread over workers. */
export const maxAttemptsPerActivity = 32;

/** Stored, scored attempt. */
export type AttemptResult = {
  trajectoryId: string;
  taskId: string;
  /** Kind of task, in the environment's grouping: scope of a forgetting window that all tasks of a kind share. */
  taskType?: string;
  iteration: number;
  /** Index among the K attempts at this task in this iteration. */
  attempt: number;
  policyId: string;
  role: AgentRole;
  /** In [0, 1]. */
  reward: number;
};

/** Stored, scored attempt with its actions, as pairs read it. */
export type ScoredAttempt = AttemptResult & {
  /** The policy's texts, turn by turn. */
  actions: readonly string[];
};

/** Success is a reward of exactly 1, everything below is a failure (arXiv:2511.22254, section 3.1). */
export function isSuccess(reward: number): boolean {
  return reward >= 1;
}

/**
 * Returns the attempts sorted by id, each once: results computed from them depend neither on the order of storage nor on
 * repeated rows.
 *
 * @throws DomainError `InvalidReward` for a reward outside [0, 1]; `ConflictingTrajectory` when one id has different
 *   rewards or tasks
 */
export function distinctAttempts<T extends Pick<ScoredAttempt, 'trajectoryId' | 'taskId' | 'reward'>>(
  attempts: readonly T[],
): T[] {
  const byId = new Map<string, T>();
  for (const attempt of attempts) {
    const { trajectoryId, taskId, reward } = attempt;
    if (!(reward >= 0 && reward <= 1))
      throw new DomainError('InvalidReward', `the reward of ${trajectoryId} must lie in [0, 1], got ${reward}`);
    const known = byId.get(trajectoryId);
    if (known && (known.reward !== reward || known.taskId !== taskId))
      throw new DomainError('ConflictingTrajectory', `${trajectoryId} occurs with different rewards or tasks`);
    byId.set(trajectoryId, known ?? attempt);
  }
  return [...byId.values()].sort((a, b) => compareText(a.trajectoryId, b.trajectoryId));
}
