import { groupBy } from '../../../domain/group-by';
import type { ExperimentRecord, PoolCount } from '../../../domain/experiment/record';

/** The tasks of an arm's cells together, by iteration and category. Categories and iterations are those of all arms. */
export type ArmPool = {
  arm: string;
  counts: readonly Omit<PoolCount, 'feature'>[];
  categories: readonly string[];
  iterations: readonly number[];
};

/** Adds up the pools of the finished cells by arm. `counted`: cells whose manifest has the feature. */
export function poolOf(
  { experiment, cells }: ExperimentRecord,
  look: number,
  feature: string | undefined,
): { pools: ArmPool[]; counted: number; finished: number } {
  const finished = cells.filter(({ seed, status }) => seed <= look && status === 'finished');
  const pools = finished
    .map(({ arm, manifest }) => ({ arm, rows: (manifest?.pool ?? []).filter((row) => row.feature === feature) }))
    .filter(({ rows }) => rows.length > 0);
  const all = pools.flatMap(({ arm, rows }) => rows.map((row) => ({ arm, ...row })));
  const categories = [...new Set(all.map(({ category }) => category))].toSorted();
  const iterations = [...new Set(all.map(({ iteration }) => iteration))].toSorted((a, b) => a - b);
  const arms = experiment.arms.map(({ name }) => {
    const counts = sums(all.filter(({ arm }) => arm === name));
    return { arm: name, counts, categories, iterations };
  });
  return {
    pools: arms.filter(({ counts }) => counts.length > 0),
    counted: pools.length,
    finished: finished.length,
  };
}

/** In the order of the iterations. */
function sums(rows: readonly PoolCount[]): ArmPool['counts'] {
  const groups = groupBy(rows, ({ iteration, category }) => `${iteration} ${category}`);
  return [...groups.values()]
    .map((group) => ({
      iteration: group[0]!.iteration,
      category: group[0]!.category,
      tasks: group.reduce((sum, { tasks }) => sum + tasks, 0),
    }))
    .toSorted((a, b) => a.iteration - b.iteration);
}
