import type { TaskStanding } from './strategy';

export type RetirementSettings = {
  /** Mean reward above which a task retires at once: it gives no more training signal. */
  above: number;
  /** Mean reward below which a task retires after `patience` iterations in which it was played. */
  below: number;
  patience: number;
};

export type Retirement = { taskId: string; reason: 'mastered' | 'too-hard'; meanReward: number };

/**
 * Returns the tasks to retire: mastered tasks (RODS, arXiv:2606.19047: mean reward above 0.95) and tasks that remain too
 * hard. Tasks that were not played recently do not retire.
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
