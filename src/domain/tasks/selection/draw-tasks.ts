import { requireSetting } from '../../errors';
import type { Random } from '../../random/seeded-random';

/**
 * Returns all items in the order of a weighted draw without replacement: the first k items are a draw of size k.
 *
 * Each item gets the key ln(u) / w with a uniform u, and the items are sorted by descending key (Efraimidis and Spirakis,
 * Information Processing Letters 97, 2006, algorithm A in logarithms). Items of weight 0 come last, in random order: they
 * are used only if the other items do not fill the draw.
 *
 * @param weights one per item, finite and >= 0
 * @throws DomainError `InvalidSetting`
 */
export function weightedOrder<T>(items: readonly T[], weights: readonly number[], random: Random): T[] {
  const isWeight = (weight: number | undefined): boolean => Number.isFinite(weight) && weight! >= 0;
  for (const i of items.keys()) requireSetting(isWeight(weights[i]), 'weight', 'finite and >= 0', weights[i]);

  const keyed = items.map((item, i) => {
    const logarithm = Math.log(1 - random.next()); // of a number in (0, 1]: log(0) is -Infinity
    const isDrawn = weights[i]! > 0;
    return { item, isDrawn, key: isDrawn ? logarithm / weights[i]! : logarithm };
  });
  keyed.sort((a, b) => Number(b.isDrawn) - Number(a.isDrawn) || b.key - a.key);
  return keyed.map(({ item }) => item);
}

/**
 * Returns the first `size` tasks with at most `share` of them synthesized. If there are too few seed tasks for that
 * share, it returns fewer tasks.
 *
 * @param ordered tasks in the order of the draw
 * @param size    max number of tasks
 * @param share   max share of synthesized tasks, in [0, 1]
 * @returns       in the order of the draw
 */
export function mix<T extends { isSynthesized: boolean }>(ordered: readonly T[], size: number, share: number): T[] {
  const total = Math.min(size, ordered.length);
  const synthesized = ordered.filter(({ isSynthesized }) => isSynthesized);
  const seeds = ordered.length - synthesized.length;
  const limit = Math.min(synthesized.length, Math.floor(share * total));
  const fitting = share === 1 ? limit : Math.min(limit, Math.floor((share * seeds) / (1 - share) + rounding));

  const kept = new Set(synthesized.slice(0, fitting));
  return ordered.filter((task) => !task.isSynthesized || kept.has(task)).slice(0, total);
}

/** In floating point, 0.2 * 8 / 0.8 is slightly less than 2. */
const rounding = 1e-9;
