import { DomainError } from '../base/errors';
import { compareText } from '../base/compare-text';
import type { ScoredAttempt } from './trajectory';

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
