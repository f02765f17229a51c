import type { CheckpointEffort } from './analysis';
import { type EffortMeasure, effortMeasures } from './experiment';

/** Mean amounts over cells; a measure that no cell has is absent. */
export type MeanEffort = Partial<Record<EffortMeasure, { nominal: number; paid: number }>>;

/** Returns the mean effort of cells until a checkpoint; null: until their last one. Cells without it are left out. */
export function meanEffort(
  cells: readonly { checkpoints: readonly CheckpointEffort[] | null }[],
  at: number | null = null,
): MeanEffort {
  const efforts = cells.flatMap(({ checkpoints }) => {
    const found = at === null ? checkpoints?.at(-1) : checkpoints?.find(({ checkpoint }) => checkpoint === at);
    return found ? [found.effort] : [];
  });
  const means: MeanEffort = {};
  for (const measure of effortMeasures) {
    const found = efforts.flatMap((effort) => effort[measure] ?? []);
    const mean = (kind: 'nominal' | 'paid'): number => found.reduce((sum, each) => sum + each[kind], 0) / found.length;
    if (found.length > 0) means[measure] = { nominal: mean('nominal'), paid: mean('paid') };
  }
  return means;
}
