import type { ExperimentRecord, PoolCount } from '../../domain/experiment/record';
import { groupBy } from '../../domain/group-by';
import { decimal } from '../../domain/formats';
import { properties, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { box, type Mark, marksChart } from '../charts/marks-chart';
import { note } from '../page/blocks';
import { panels, type Section } from '../page/section';
import type { ExperimentReport } from './report';

/** Composition of the task pools by category and iteration (figure 5). */
export const poolSection: Section<ExperimentReport> = {
  id: 'pool',
  title: 'Task pools',
  body({ record, analysis }) {
    const feature = record.experiment.analysis.breakdown[0];
    const { pools, counted, finished } = poolOf(record, analysis.look, feature);
    if (counted === 0) return null;
    const which =
      counted === finished ? `all ${finished} cells` : `the ${counted} of ${finished} cells that counted them`;
    return [
      note(
        `Train tasks by ${feature} and by the iteration that admitted them, of ${which}; 0: the tasks of the start.`,
      ),
      panels(pools.map(composition), 340),
      table(
        `Admitted tasks by arm, iteration and ${feature}`,
        pools.flatMap(({ arm, counts }) => counts.map((row) => ({ arm, ...row }))),
        [text('arm', (row) => row.arm), text('iteration', (row) => row.iteration), ...properties('category', 'tasks')],
      ),
    ];
  },
};

const shades = ['var(--incumbent)', 'var(--target)', 'var(--failure)', 'var(--positive)', 'var(--hard)', 'var(--rare)'];

/** Figure 5: a row per category, a bar per iteration: share of the iteration's tasks. */
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
      return box([0, top], [end, bottom], { colour });
    }),
  );
  return marksChart({
    title: `Figure 5. ${arm}: share of categories, in %`,
    description: counts
      .map(({ iteration, category }) => `iteration ${iteration} ${category}: ${decimal(share(iteration, category), 1)}`)
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

/** The tasks of an arm's cells together, by iteration and category. It has the categories and iterations of all arms. */
type ArmPool = {
  arm: string;
  counts: readonly Omit<PoolCount, 'feature'>[];
  categories: readonly string[];
  iterations: readonly number[];
};

/** Adds up the pools of the finished cells by arm. `counted`: cells whose manifest has the feature. */
function poolOf(
  { experiment, cells }: ExperimentRecord,
  look: number,
  feature: string | undefined,
): { pools: ArmPool[]; counted: number; finished: number } {
  const finished = cells.filter(({ seed, status }) => seed <= look && status === 'finished');
  const pools = finished
    .map(({ arm, manifest }) => ({ arm, rows: (manifest?.pool ?? []).filter((row) => row.feature === feature) }))
    .filter(({ rows }) => rows.length > 0);
  const all = pools.flatMap(({ arm, rows }) => rows.map((row) => ({ arm, ...row })));
  const categories = [...new Set(all.map(({ category }) => category))].toSorted();
  const iterations = [...new Set(all.map(({ iteration }) => iteration))].toSorted((a, b) => a - b);
  const arms = experiment.arms.map(({ name }) => {
    const counts = sums(all.filter(({ arm }) => arm === name));
    return { arm: name, counts, categories, iterations };
  });
  return {
    pools: arms.filter(({ counts }) => counts.length > 0),
    counted: pools.length,
    finished: finished.length,
  };
}

/** In the order of the iterations. */
function sums(rows: readonly PoolCount[]): ArmPool['counts'] {
  const groups = groupBy(rows, ({ iteration, category }) => `${iteration} ${category}`);
  return [...groups.values()]
    .map((group) => ({
      iteration: group[0]!.iteration,
      category: group[0]!.category,
      tasks: group.reduce((sum, { tasks }) => sum + tasks, 0),
    }))
    .toSorted((a, b) => a.iteration - b.iteration);
}
