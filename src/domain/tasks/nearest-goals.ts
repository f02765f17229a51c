import { compareNaturally } from '../compare-text';
import { hashedNgrams } from './admission/sentence-encoder';

/**
 * Returns at most `count` different goals, those with the most words in common with `text` first; ties by their words. The
 * encoder is the one that admission uses without an embedding model, so no call is paid.
 */
export function nearestGoals(goals: Iterable<string>, text: string, count: number): string[] {
  if (count === 0) return [];
  const sought = hashedNgrams.encode(text);
  return [...new Set(goals)]
    .map((goal) => ({ goal, similarity: dot(hashedNgrams.encode(goal), sought) }))
    .sort((a, b) => b.similarity - a.similarity || compareNaturally(a.goal, b.goal))
    .slice(0, count)
    .map(({ goal }) => goal);
}

/** Task with actions that solve it, as an author is shown it. */
export type ExampleTask = { goal: string; actions: readonly string[] };

/**
 * Returns at most `count` tasks whose goals are nearest to `goal`, but not the task of that goal itself, and none without
 * actions. A last action that all of them have, such as `submit`, ends a session and is left out.
 */
export function nearestExamples(tasks: Iterable<ExampleTask>, goal: string, count: number): ExampleTask[] {
  const solved = new Map<string, ExampleTask>();
  for (const task of tasks) if (task.actions.length > 0 && task.goal !== goal) solved.set(task.goal, task);
  const chosen = nearestGoals(solved.keys(), goal, count).map((known) => solved.get(known)!);
  const ends = new Set(chosen.map(({ actions }) => actions.at(-1)));
  const isEnd = chosen.length > 1 && ends.size === 1 && chosen.every(({ actions }) => actions.length > 1);
  return isEnd ? chosen.map((task) => ({ ...task, actions: task.actions.slice(0, -1) })) : chosen;
}

/** Tasks of the pool that the prompts of an author show. */
export type KnownTasks = { knownGoals: string[]; examples: ExampleTask[] };

/** Goals in one prompt. */
const maxGoals = 12;

/**
 * Returns the goals that are nearest to a context, to the goal of its task and to the objectives of its exploration, and the
 * `count` nearest tasks with their actions as examples.
 */
export const nearestTasks = (
  tasks: readonly ExampleTask[],
  { goal, objectives, count }: { goal: string; objectives: readonly string[]; count: number },
): KnownTasks => ({
  knownGoals: nearestGoals(
    tasks.map((task) => task.goal),
    [goal, ...objectives].join('\n'),
    maxGoals,
  ),
  examples: nearestExamples(tasks, goal, count),
});

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * b[index]!, 0);
