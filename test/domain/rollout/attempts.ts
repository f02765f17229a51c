import * as fc from 'fast-check';
import type { AgentRole } from '../../../src/domain/roles';
import type { ScoredAttempt } from '../../../src/domain/rollout/trajectory';

/** Creates an attempt whose id contains its iteration, role, task and number. */
export function attemptOf(given: Partial<ScoredAttempt> = {}): ScoredAttempt {
  const base = { taskId: 'task-1', iteration: 1, attempt: 0, role: 'target' as AgentRole, reward: 0, ...given };
  const trajectoryId = `${base.iteration}/${base.role}/${base.taskId}/${base.attempt}`;
  return { trajectoryId, policyId: `${base.role}-${base.iteration}`, actions: [`act('${trajectoryId}')`], ...base };
}

/** Creates one group: K attempts of one agent at one task, with these rewards. */
export function groupOf(rewards: readonly number[], given: Partial<ScoredAttempt> = {}): ScoredAttempt[] {
  return rewards.map((reward, attempt) => attemptOf({ ...given, reward, attempt }));
}

/** Few distinct values including the thresholds, so that ties and edge cases are frequent. */
export const rewards = fc.constantFrom(0, 0.25, 0.5, 0.6, 0.75, 1);

const texts = fc.constantFrom('f(1)', 'g(2)', 'select a from t', 'submit');

/** Attempts of up to three iterations, four tasks, two agents and three attempts each, so that many share a task. */
export const attemptLists = fc.uniqueArray(
  fc
    .record({
      taskId: fc.constantFrom('a', 'b', 'c', 'd'),
      iteration: fc.integer({ min: 1, max: 3 }),
      attempt: fc.integer({ min: 0, max: 2 }),
      role: fc.constantFrom<AgentRole>('target', 'failure'),
      reward: rewards,
      actions: fc.array(texts, { maxLength: 3 }),
    })
    .map((given) => attemptOf({ ...given, taskType: given.taskId < 'c' ? 'early' : 'late' })),
  { selector: ({ trajectoryId }) => trajectoryId, maxLength: 40 },
);

/** Permutations of the items. */
export function reordered<T>(items: readonly T[]): fc.Arbitrary<T[]> {
  return fc.shuffledSubarray([...items], { minLength: items.length });
}
