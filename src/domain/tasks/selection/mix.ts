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
