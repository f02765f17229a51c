import { type EffortMeasure, effortMeasures } from '../../../domain/experiment/experiment';
import type { ExperimentRecord } from '../../../domain/experiment/record';

export type ArmEffort = { arm: string; measure: EffortMeasure; cells: number; nominal: number; paid: number };

/** Returns the mean effort of the finished cells of each arm, over the first `look` seeds. */
export function armEffort({ experiment, cells }: ExperimentRecord, look: number): ArmEffort[] {
  return experiment.arms.flatMap(({ name: arm }) => {
    const own = cells.filter((cell) => cell.arm === arm && cell.seed <= look && cell.status === 'finished');
    const totals = own.map(({ checkpoints }) => checkpoints.at(-1)?.effort ?? {});
    return effortMeasures.flatMap((measure) => {
      const found = totals.flatMap((effort) => effort[measure] ?? []);
      if (found.length === 0) return [];
      const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
      const [nominal, paid] = [mean(found.map((each) => each.nominal)), mean(found.map((each) => each.paid))];
      return [{ arm, measure, cells: found.length, nominal, paid }];
    });
  });
}
