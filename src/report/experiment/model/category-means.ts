import { compareNaturally } from '../../../domain/compare-text';
import type { ExperimentRecord } from '../../../domain/experiment/record';
import { finalScores } from './final-scores';

export type CategoryMean = { arm: string; value: string; tasks: number; mean: number };

/** Returns the mean of each arm within each value of a feature, over tasks and seeds, at the last checkpoint. */
export function categoryMeans(record: ExperimentRecord, look: number, feature: string): CategoryMean[] {
  const sums = new Map<string, Map<string, { tasks: number; sum: number }>>();
  for (const { arm, features, score } of finalScores(record, look)) {
    if (features[feature] === undefined) continue;
    const byArm = sums.get(String(features[feature])) ?? new Map<string, { tasks: number; sum: number }>();
    const found = byArm.get(arm) ?? { tasks: 0, sum: 0 };
    sums.set(String(features[feature]), byArm.set(arm, { tasks: found.tasks + 1, sum: found.sum + score }));
  }
  const values = [...sums.keys()].sort(compareNaturally);
  return values.flatMap((value) =>
    record.experiment.arms.flatMap(({ name: arm }) => {
      const found = sums.get(value)!.get(arm);
      return found ? [{ arm, value, tasks: found.tasks, mean: found.sum / found.tasks }] : [];
    }),
  );
}
