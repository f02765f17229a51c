import { groupBy } from '../group-by';

/** A task as the division into evaluation sets reads it. */
export type DividedTask = { features: Record<string, string | number> };

/**
 * Divides tasks into sets of given sizes, in order of the tasks within each set. Each pattern is divided in the ratio of
 * the sizes, and the tasks of a scenario stay together where the sizes allow it.
 *
 * @param sizes number of tasks of each set; tasks beyond their sum are left out
 */
export function divideTasks<T extends DividedTask>(tasks: readonly T[], sizes: readonly number[]): T[][] {
  const kept = tasks.slice(0, sum(sizes));
  const chosen = sizes.map(() => new Set<T>());
  const room = (set: number): number => sizes[set]! - chosen[set]!.size;
  /** The set with the largest unfilled share; the first of equal ones. */
  const emptiest = (unit: readonly T[]): number | undefined =>
    sizes
      .map((_, set) => set)
      .filter((set) => room(set) >= unit.length)
      .sort((a, b) => room(b) / sizes[b]! - room(a) / sizes[a]! || a - b)[0];
  const put = (unit: readonly T[]): void => {
    const set = emptiest(unit);
    if (set !== undefined) for (const task of unit) chosen[set]!.add(task);
    else for (const task of unit) put([task]);
  };
  const strata = groupBy(kept, ({ features }) => String(features['pattern'] ?? features['group'] ?? ''));
  for (const stratum of strata.values())
    for (const unit of groupBy(stratum, (task) => task.features['scenario'] ?? task).values()) put(unit);
  return chosen.map((set) => kept.filter((task) => set.has(task)));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
