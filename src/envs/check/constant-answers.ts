import type { TaskRecord } from '../server/environment-data';
import type { PlannedEpisode, PlayedEpisode } from './play-episodes';
import { isSuccess } from '../../domain/rollout/trajectory';

/** Actions that were played in every task, and the number of tasks that they solved. */
export type ConstantAnswer = { actions: string[]; tried: number; solved: number };

const maxReferences = 3;
const maxTasks = 100; // per answer

/**
 * Plans episodes that ignore their task: the environment's own constant answers, the most frequent reference actions, and
 * only the last reference action. A checker that accepts one of them often measures little.
 */
export function constantEpisodes(
  tasks: readonly TaskRecord[],
  given: readonly (readonly string[])[],
): { answers: string[][]; plans: PlannedEpisode[] } {
  const counts = new Map<string, number>();
  const endings = new Map<string, number>();
  const count = (counted: Map<string, number>, actions: readonly string[]): void => {
    const key = JSON.stringify(actions);
    if (actions.length > 0) counted.set(key, (counted.get(key) ?? 0) + 1);
  };
  for (const { reference_actions: actions } of tasks) {
    count(counts, actions);
    count(endings, actions.slice(-1));
  }
  const candidates = [
    ...given.map((actions) => JSON.stringify(actions)),
    ...top(counts, maxReferences),
    ...top(endings, 1),
  ];
  const answers = [...new Set(candidates)].map((key) => JSON.parse(key) as string[]);
  const played = tasks.slice(0, maxTasks);
  return { answers, plans: answers.flatMap((actions) => played.map((task) => ({ task, actions }))) };
}

/** Returns the answer that solved the most tasks; null without answers. */
export function bestConstant(answers: readonly string[][], played: readonly PlayedEpisode[]): ConstantAnswer | null {
  const tried = played.length / Math.max(1, answers.length);
  const measured = answers.map((actions, index) => {
    const episodes = played.slice(index * tried, (index + 1) * tried);
    return { actions, tried, solved: episodes.filter(({ reward }) => reward !== null && isSuccess(reward)).length };
  });
  return measured.reduce<ConstantAnswer | null>((best, one) => (best && best.solved >= one.solved ? best : one), null);
}

/** Returns the most frequent keys of at least two tasks: the reference actions of one task solve that task. */
const top = (counted: ReadonlyMap<string, number>, limit: number): string[] =>
  [...counted]
    .filter(([, count]) => count > 1)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, limit)
    .map(([key]) => key);
