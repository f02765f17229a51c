import { compareNaturally } from '../../domain/compare-text';
import type { ExperimentRecord } from '../../domain/experiment/record';
import { interval, points, signedPoints } from '../../domain/formats';
import { number, properties, table } from '../../tables/table';
import type { Chart } from '../charts/figure';
import { box, type Mark, marksChart } from '../charts/marks-chart';
import { note } from '../page/blocks';
import { panels, type Section } from '../page/section';
import { finalScores } from './final-scores';
import type { ExperimentReport } from './report';

/** Below this number of tasks a mean of a category is grey. */
const enoughTasks = 30;

/** Means by category of tasks (figure 4): descriptive. */
export const categoriesSection: Section<ExperimentReport> = {
  id: 'categories',
  title: 'Categories of tasks',
  body({ record, analysis }) {
    const charts = record.experiment.analysis.breakdown.flatMap((feature) => {
      const means = categoryMeans(record, analysis.look, feature);
      return means.length === 0 || analysis.arms.length === 0 ? [] : [heatMap(feature, means)];
    });
    if (charts.length === 0) return null;
    return [
      note(
        `Descriptive: nothing here is tested. n: test tasks of the category, over all seeds; below ${enoughTasks} the ` +
          'cell is grey.',
      ),
      panels(charts, 340),
      table('Differences by category, in points (descriptive)', analysis.breakdown, [
        ...properties('contrast', 'feature', 'value'),
        number('tasks (n)', (row) => row.tasks),
        number('difference', (row) => row.difference, signedPoints),
        number('95 % interval', (row) => interval(row.low, row.high, signedPoints)),
      ]),
    ];
  },
};

/** Figure 4: rows are categories, so that many of them fit a phone; columns are arms. */
function heatMap(feature: string, means: readonly CategoryMean[]): Chart {
  const arms = [...new Set(means.map(({ arm }) => arm))];
  const values = [...new Set(means.map(({ value }) => value))];
  const marks = means.flatMap(({ arm, value, tasks, mean }): Mark[] => {
    const [x, y] = [arms.indexOf(arm), values.indexOf(value)];
    const few = tasks < enoughTasks;
    const colour = few ? 'var(--incumbent)' : 'var(--target)';
    return [
      box([x - 0.48, y - 0.46], [x + 0.48, y + 0.46], { colour, opacity: few ? 0.15 : 0.1 + 0.6 * mean }),
      { kind: 'text', at: [x, y], text: points(mean, 0), side: 'centre', muted: few },
    ];
  });
  const size = new Map(means.map(({ value, tasks }) => [value, tasks]));
  return marksChart({
    title: `Figure 4. Success by ${feature} and arm, in points`,
    description: means.map(({ arm, value, tasks, mean }) => `${arm} ${value}: ${points(mean)} (n ${tasks})`).join(', '),
    x: { slots: arms },
    y: { slots: values.map((value) => `${shortened(value)} (${size.get(value) ?? 0})`) },
    left: 120,
    height: 44 + 26 * values.length,
    marks,
  });
}

const shortened = (name: string): string => (name.length > 14 ? `${name.slice(0, 13)}…` : name);

type CategoryMean = { arm: string; value: string; tasks: number; mean: number };

/** Returns the mean of each arm within each value of a feature, over tasks and seeds, at the last checkpoint. */
function categoryMeans(record: ExperimentRecord, look: number, feature: string): CategoryMean[] {
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
