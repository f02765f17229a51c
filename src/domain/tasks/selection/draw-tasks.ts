import { requireSetting } from '../../base/errors';
import type { Random } from '../../base/seeded-random';

/**
 * All items in the order of a weighted draw without replacement: the first k of them are a draw of k.
 *
 * Each item gets the key ln(u) / w of a uniform u, and the largest keys come first (Efraimidis and Spirakis,
 * Information Processing Letters 97, 2006, algorithm A in logarithms). Items of weight 0 come last, in random order: they
 * are drawn only where the others do not fill the draw.
 *
 * @param weights one per item, finite and >= 0
 * @throws DomainError `InvalidSetting`
 */
export function weightedOrder<T>(items: readonly T[], weights: readonly number[], random: Random): T[] {
  const isWeight = (weight: number | undefined): boolean => Number.isFinite(weight) && weight! >= 0;
  for (const i of items.keys()) requireSetting(isWeight(weights[i]), 'weight', 'finite and >= 0', weights[i]);

  const keyed = items.map((item, i) => {
    const logarithm = Math.log(1 - random.next()); // of a number in (0, 1]: 0 has none
    const isDrawn = weights[i]! > 0;
    return { item, isDrawn, key: isDrawn ? logarithm / weights[i]! : logarithm };
  });
  keyed.sort((a, b) => Number(b.isDrawn) - Number(a.isDrawn) || b.key - a.key);
  return keyed.map(({ item }) => item);
}

/**
 * The first tasks of an order, of which at most `share` are synthesized. Where seed tasks are too few to keep that
 * share, there are fewer tasks.
 *
 * @param ordered tasks in the order of the draw
 * @param size    most tasks
 * @param share   largest share of synthesized ones, in [0, 1]
 * @returns       in the order of the draw
 */
export function mix<T extends { isSynthesized: boolean }>(ordered: readonly T[], size: number, share: number): T[] {
  const total = Math.min(size, ordered.length);
  const synthesized = ordered.filter(({ isSynthesized }) => isSynthesized);
  const seeds = ordered.length - synthesized.length;
  const room = Math.min(synthesized.length, Math.floor(share * total));
  const fitting = share === 1 ? room : Math.min(room, Math.floor((share * seeds) / (1 - share) + rounding));

  const kept = new Set(synthesized.slice(0, fitting));
  return ordered.filter((task) => !task.isSynthesized || kept.has(task)).slice(0, total);
}

/** 0.2 * 8 / 0.8 is 2, less the last bit. */
const rounding = 1e-9;
