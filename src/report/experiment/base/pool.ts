import { groupBy } from '../../../domain/base/group-by';
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
  const rowsOf = (arm?: string): PoolCount[] =>
    finished
      .filter((cell) => arm === undefined || cell.arm === arm)
      .flatMap(({ manifest }) => (manifest?.pool ?? []).filter((row) => row.feature === feature));
  const categories = [...new Set(rowsOf().map(({ category }) => category))].toSorted();
  const iterations = [...new Set(rowsOf().map(({ iteration }) => iteration))].toSorted((a, b) => a - b);
  const pools = experiment.arms.map(({ name }) => ({ arm: name, counts: sums(rowsOf(name)), categories, iterations }));
  return {
    pools: pools.filter(({ counts }) => counts.length > 0),
    counted: finished.filter(({ manifest }) => manifest?.pool?.some((row) => row.feature === feature)).length,
    finished: finished.length,
  };
}

function sums(rows: readonly PoolCount[]): Omit<PoolCount, 'feature'>[] {
  const groups = groupBy(rows, ({ iteration, category }) => `${iteration} ${category}`);
  return [...groups.values()].map((group) => ({
    ...{ iteration: group[0]!.iteration, category: group[0]!.category },
    tasks: group.reduce((sum, { tasks }) => sum + tasks, 0),
  }));
}
