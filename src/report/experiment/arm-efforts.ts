import { meanEffort, type Effort } from '../../domain/experiment/effort';
import type { ExperimentRecord } from '../../domain/experiment/record';

/**
 * Returns the mean effort of the finished cells of each arm that has any, over the first `look` seeds, until a checkpoint
 * or, if none is given, until their last one.
 */
export function armEfforts(
  { experiment, cells }: ExperimentRecord,
  look: number,
  checkpoint: number | null = null,
): Map<string, Effort> {
  return new Map(
    experiment.arms.flatMap(({ name }) => {
      const own = cells.filter(({ arm, seed, status }) => arm === name && seed <= look && status === 'finished');
      return own.length === 0 ? [] : [[name, meanEffort(own, checkpoint)] as const];
    }),
  );
}
