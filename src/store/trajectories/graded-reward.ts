/**
 * Returns the SQL of a trajectory's reward in comparisons. The environment cannot score a task whose attempts the judge
 * grades; the judge approved the replay of its reference actions when the task was admitted.
 *
 * @param trajectory alias of a row of `trajectories`
 * @param task alias of the row of its task
 */
export const gradedReward = (trajectory: string, task: string): string =>
  `case when ${trajectory}.purpose = 'validation' and ${task}.grader = 'judge' then 1 else ${trajectory}.reward end`;
