import type { TaskStanding } from './strategy';

export type RetirementSettings = {
  /** Mean reward above which a task retires at once: nothing is left to learn from it. */
  above: number;
  /** Mean reward below which it retires after `patience` iterations in which it was played. */
  below: number;
  patience: number;
};

export type Retirement = { taskId: string; reason: 'mastered' | 'too-hard'; meanReward: number };

/**
 * Tasks that are no longer drawn: mastered ones (RODS, arXiv:2606.19047: mean reward above 0.95), and those that stay too
 * hard. What was not played lately stays.
 */
export function retire(
  tasks: readonly (Pick<TaskStanding, 'taskId' | 'meanReward'> & { iterations: number })[],
  { above, below, patience }: RetirementSettings,
): Retirement[] {
  return tasks.flatMap(({ taskId, meanReward, iterations }): Retirement[] => {
    if (meanReward === null) return [];
    if (meanReward > above) return [{ taskId, reason: 'mastered', meanReward }];
    return meanReward < below && iterations >= patience ? [{ taskId, reason: 'too-hard', meanReward }] : [];
  });
}
