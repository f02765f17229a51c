import { scaleAround } from '../../../charts/axes';
import { type Chart, figure } from '../../../charts/figure';
import { type Mark, marksChart } from '../../../charts/marks-chart';
import { note } from '../../../page/blocks';
import { count } from '../../../page/format';
import { html } from '../../../page/html';
import { table } from '../../../page/table';
import { poolOf, type ArmPool } from '../../model/pool';
import { defineSection } from '../../model/section';

/** Composition of the task pools by category and iteration (figure 7). */
export const poolSection = defineSection({
  id: 'pool',
  title: 'Task pools',
  render({ record, analysis }) {
    const feature = record.experiment.analysis.breakdown[0];
    const { pools, counted, finished } = poolOf(record, analysis.look, feature);
    if (counted === 0) return null;
    const which =
      counted === finished ? `all ${finished} cells` : `the ${counted} of ${finished} cells that counted them`;
    return [
      note(
        `Train tasks by ${feature} and by the iteration that admitted them, of ${which}; 0: the tasks of the start.`,
      ),
      html`<div class="panels">${pools.map((pool) => figure(composition(pool), 340))}</div>`,
      table({
        caption: `Admitted tasks by arm, iteration and ${feature}`,
        head: ['arm', 'iteration', 'category', 'tasks'],
        textColumns: 3,
        rows: pools.flatMap(({ arm, counts }) =>
          counts.map(({ iteration, category, tasks }) => [arm, String(iteration), category, count(tasks)]),
        ),
      }),
    ];
  },
});

const shades = ['var(--incumbent)', 'var(--target)', 'var(--failure)', 'var(--positive)', 'var(--hard)', 'var(--rare)'];

/** Figure 7: a row per category, a bar per iteration: share of the iteration's tasks. */
function composition({ arm, counts, categories, iterations }: ArmPool): Chart {
  const share = (iteration: number, category: string): number => {
    const all = counts.filter((each) => each.iteration === iteration);
    const total = all.reduce((sum, { tasks }) => sum + tasks, 0);
    return total === 0 ? 0 : (100 * (all.find((each) => each.category === category)?.tasks ?? 0)) / total;
  };
  const highest = Math.max(1, ...iterations.flatMap((i) => categories.map((category) => share(i, category))));
  const bars = categories.flatMap((category, row) =>
    iterations.map((iteration, i): Mark => {
      const [top, end] = [row - 0.4 + (0.8 * i) / iterations.length, share(iteration, category)];
      const bottom = top + 0.7 / iterations.length;
      const colour = shades[i % shades.length]!;
      return { kind: 'area', points: [[0, top], [end, top], [end, bottom], [0, bottom]], colour }; // prettier-ignore
    }),
  );
  return marksChart({
    title: `Figure 7. ${arm}: share of categories, in %`,
    description: counts
      .map(({ iteration, category }) => `iteration ${iteration} ${category}: ${share(iteration, category).toFixed(1)}`)
      .join(', '),
    x: {
      scale: scaleAround([0, highest]),
      format: String,
      name: `bars from the top: iterations ${iterations.join(', ')}`,
    },
    y: { slots: categories },
    left: 130,
    height: 60 + (10 + 8 * iterations.length) * categories.length,
    marks: bars,
  });
}
