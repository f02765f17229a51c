import { compareNaturally } from '../compare-text';
import { hashedNgrams } from './admission/sentence-encoder';

/**
 * Returns at most `count` different goals, those with the most words in common with `text` first; ties by their words. The
 * encoder is the one that admission uses without an embedding model, so no call is paid.
 */
export function nearestGoals(goals: Iterable<string>, text: string, count: number): string[] {
  const sought = hashedNgrams.encode(text);
  return [...new Set(goals)]
    .map((goal) => ({ goal, similarity: dot(hashedNgrams.encode(goal), sought) }))
    .sort((a, b) => b.similarity - a.similarity || compareNaturally(a.goal, b.goal))
    .slice(0, count)
    .map(({ goal }) => goal);
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * b[index]!, 0);
