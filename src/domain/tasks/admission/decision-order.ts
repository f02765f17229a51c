import { groupBy } from '../../base/group-by';
import { compareText } from '../../base/compare-text';

/**
 * The order in which candidates are decided, which is the same whatever order they are read in: within an aim as they
 * were made (numbers in ids by value, so `.../2` before `.../10`), and the aims in turn, one candidate each. Whoever
 * comes first takes the room under a growth cap and the place of its duplicates; in turn, no aim takes them all.
 */
export function inDecisionOrder<T extends { id: string; aim: string }>(candidates: readonly T[]): T[] {
  const queues = [...groupBy(candidates, ({ aim }) => aim)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, members]) => [...members].sort((a, b) => compareNaturally(a.id, b.id)));
  const rounds = Math.max(0, ...queues.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, i) => queues.flatMap((queue) => queue[i] ?? [])).flat();
}

/** Texts part by part, runs of digits by their value; ids that differ in leading zeros alone by their text. */
export function compareNaturally(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = comparePart(left[i]!, right[i]!);
    if (order !== 0) return order;
  }
  return left.length - right.length || compareText(a, b);
}

const partsOf = (text: string): string[] => text.match(/\d+|\D+/g) ?? [];

function comparePart(a: string, b: string): number {
  const numbers = /^\d/.test(a) && /^\d/.test(b);
  return numbers ? Number(a) - Number(b) : compareText(a, b);
}
