import { type Chart, figure } from '../../../charts/figure';
import { type Mark, marksChart } from '../../../charts/marks-chart';
import { note } from '../../../page/blocks';
import { count } from '../../../page/format';
import { html } from '../../../page/html';
import { table } from '../../../page/table';
import { categoryMeans, type CategoryMean } from '../../model/category-means';
import { points, pointsRange, signedPoints } from '../../model/points';
import { defineSection } from '../../model/section';

/** Below this number of tasks a mean of a category is grey. */
const enoughTasks = 30;

/** Means by category of tasks (figure 5): descriptive. */
export const categoriesSection = defineSection({
  id: 'categories',
  title: 'Categories of tasks',
  render({ record, analysis }) {
    const { breakdown } = record.experiment.analysis;
    const charts = breakdown.flatMap((feature) => {
      const means = categoryMeans(record, analysis.look, feature);
      return means.length === 0 || analysis.arms.length === 0 ? [] : [heatMap(feature, means)];
    });
    if (charts.length === 0) return null;
    return [
      note(
        `Descriptive: nothing here is tested. n: test tasks of the category, over all seeds; below ${enoughTasks} the ` +
          'cell is grey.',
      ),
      html`<div class="panels">${charts.map((chart) => figure(chart, 340))}</div>`,
      table({
        caption: 'Differences by category, in points (descriptive)',
        head: ['contrast', 'feature', 'value', 'tasks (n)', 'difference', '95 % interval'],
        textColumns: 3,
        rows: analysis.breakdown.map(({ contrast, feature, value, tasks, difference, low, high }) => [
          contrast,
          feature,
          value,
          count(tasks),
          signedPoints(difference),
          pointsRange(low, high),
        ]),
      }),
    ];
  },
});

/** Figure 5: rows are categories, so that many of them fit a phone; columns are arms. */
function heatMap(feature: string, means: readonly CategoryMean[]): Chart {
  const arms = [...new Set(means.map(({ arm }) => arm))];
  const values = [...new Set(means.map(({ value }) => value))];
  const marks = means.flatMap(({ arm, value, tasks, mean }): Mark[] => {
    const [x, y] = [arms.indexOf(arm), values.indexOf(value)];
    const few = tasks < enoughTasks;
    const corners = [[x - 0.48, y - 0.46], [x + 0.48, y - 0.46], [x + 0.48, y + 0.46], [x - 0.48, y + 0.46]] as const; // prettier-ignore
    const colour = few ? 'var(--incumbent)' : 'var(--target)';
    return [
      { kind: 'area', points: corners, colour, opacity: few ? 0.15 : 0.1 + 0.6 * mean },
      { kind: 'text', at: [x, y], text: points(mean, 0), side: 'centre', muted: few },
    ];
  });
  const size = new Map(means.map(({ value, tasks }) => [value, tasks]));
  return marksChart({
    title: `Figure 5. Success by ${feature} and arm, in points`,
    description: means.map(({ arm, value, tasks, mean }) => `${arm} ${value}: ${points(mean)} (n ${tasks})`).join(', '),
    x: { slots: arms },
    y: { slots: values.map((value) => `${shortened(value)} (${size.get(value) ?? 0})`) },
    left: 120,
    height: 44 + 26 * values.length,
    marks,
  });
}

const shortened = (text: string): string => (text.length > 14 ? `${text.slice(0, 13)}…` : text);
