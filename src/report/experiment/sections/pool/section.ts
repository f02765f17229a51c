import { scaleAround } from '../../../charts/axes';
import { type Chart, figure } from '../../../charts/figure';
import { type Mark, marksChart } from '../../../charts/marks-chart';
import { note } from '../../../page/blocks';
import { count } from '../../../page/format';
import { html } from '../../../page/html';
import { table } from '../../../page/table';
import type { PoolCount } from '../../base/report';
import { defineSection } from '../../base/section';

/** Composition of the task pools by category and iteration (figure 7). */
export const poolSection = defineSection({
  id: 'pool',
  title: 'Task pools',
  render({ pool, record }) {
    if (pool.length === 0) return null;
    const arms = record.experiment.arms.map(({ name }) => name).filter((name) => pool.some(({ arm }) => arm === name));
    return [
      note('Tasks admitted by each iteration, of all cells in this database; iteration 0 has the tasks of the start.'),
      html`<div class="panels">${arms.map((arm) => figure(composition(arm, pool), 340))}</div>`,
      table({
        caption: 'Admitted tasks by arm, iteration and category',
        head: ['arm', 'iteration', 'category', 'tasks'],
        textColumns: 3,
        rows: pool.map(({ arm, iteration, category, tasks }) => [arm, String(iteration), category, count(tasks)]),
      }),
    ];
  },
});

const shades = ['var(--incumbent)', 'var(--target)', 'var(--failure)', 'var(--positive)', 'var(--hard)', 'var(--rare)'];

/** Figure 7: a row per category, a bar per iteration: share of the iteration's tasks. */
function composition(arm: string, pool: readonly PoolCount[]): Chart {
  const categories = [...new Set(pool.map(({ category }) => category))];
  const own = pool.filter((each) => each.arm === arm);
  const iterations = [...new Set(pool.map(({ iteration }) => iteration))];
  const share = (iteration: number, category: string): number => {
    const all = own.filter((each) => each.iteration === iteration);
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
    description: own.map(({ iteration, category, tasks }) => `iteration ${iteration} ${category}: ${tasks}`).join(', '),
    x: {
      scale: scaleAround([0, highest]),
      format: String,
      name: `bars from the top: iterations ${iterations.join(', ')}`,
    },
    y: { slots: categories },
    left: 110,
    height: 60 + (10 + 8 * iterations.length) * categories.length,
    marks: bars,
  });
}
