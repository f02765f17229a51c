import { type EffortMeasure, effortMeasures } from './experiment';

/** Nominal and paid amount of each measure: with and without work that was found in other campaigns. */
export type Amounts = { nominal: number; paid: number };
export type Effort = Partial<Record<EffortMeasure, Amounts>>;

/** Effort until a checkpoint (iteration number), cumulative. */
export type CheckpointEffort = { checkpoint: number; effort: Effort };

/**
 * Returns the mean effort of cells until a checkpoint, or until their last one if none is given. Cells without it are left
 * out, and so is a measure that no cell has.
 */
export function meanEffort(
  cells: readonly { checkpoints: readonly CheckpointEffort[] | null }[],
  at: number | null = null,
): Effort {
  const efforts = cells.flatMap(({ checkpoints }) => {
    const found = at === null ? checkpoints?.at(-1) : checkpoints?.find(({ checkpoint }) => checkpoint === at);
    return found ? [found.effort] : [];
  });
  const means: Effort = {};
  for (const measure of effortMeasures) {
    const found = efforts.flatMap((effort) => effort[measure] ?? []);
    const mean = (kind: keyof Amounts): number => found.reduce((sum, each) => sum + each[kind], 0) / found.length;
    if (found.length > 0) means[measure] = { nominal: mean('nominal'), paid: mean('paid') };
  }
  return means;
}

export const nominalOf = (effort: Effort): Partial<Record<EffortMeasure, number>> =>
  Object.fromEntries(Object.entries(effort).map(([measure, { nominal }]) => [measure, nominal]));
