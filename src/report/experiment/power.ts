import { decimal, points } from '../../domain/formats';
import { number, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { type Mark, marksChart, type Position, segment } from '../charts/marks-chart';
import { key, note } from '../page/blocks';
import { panels, type Section } from '../page/section';
import type { ExperimentReport } from './report';

/** Power of the primary contrast at its observed deviation (figure 7). */
export const powerSection: Section<ExperimentReport> = {
  id: 'power',
  title: 'Power',
  body({ record, analysis: { power, contrasts, look, conditionalPower } }) {
    if (power.length === 0) return null;
    const sizes = [...new Set(power.map(({ seeds }) => seeds))];
    const primary = contrasts.find(({ kind }) => kind === 'primary');
    const conditional =
      conditionalPower === null ? '' : ` Conditional power at the last look: ${decimal(conditionalPower)}.`;
    return [
      note(
        `Deviation of the differences by seed: ${points(primary?.sd)} points. ` +
          `${look} seeds detect ${points(primary?.detectable)} points with 80 % power; ` +
          `${points(record.experiment.analysis.margin)} points need ${primary?.seedsNeeded ?? 'more than 10,000'} seeds.` +
          conditional,
      ),
      panels([powerChart(power, sizes)], 340),
      key(sizes.map((seeds, i) => [colours[i % colours.length]!, `${seeds} seeds`])),
      table(
        'Power by difference and number of seeds',
        [...new Set(power.map((row) => row.difference))],
        [
          text('difference', (difference) => points(difference)),
          ...sizes.map((seeds) =>
            number<number>(
              `${seeds} seeds`,
              (difference) => power.find((row) => row.seeds === seeds && row.difference === difference)?.power,
              decimal,
            ),
          ),
        ],
      ),
    ];
  },
};

const colours = ['var(--target)', 'var(--positive)', 'var(--failure)', 'var(--hard)'];

/** Figure 7. */
function powerChart(power: ExperimentReport['analysis']['power'], sizes: readonly number[]): Chart {
  const largest = Math.max(...power.map(({ difference }) => difference));
  const scale = scaleAround([0, 100 * largest]);
  const curves = sizes.map((seeds, i): Mark => {
    const own = power.filter((row) => row.seeds === seeds);
    const line = own.map(({ difference, power: share }): Position => [100 * difference, share]);
    return { kind: 'line', points: line, colour: colours[i % colours.length]! };
  });
  return marksChart({
    title: 'Figure 7. Power of the primary contrast',
    description: sizes.map((seeds) => `${seeds} seeds: ${described(power, seeds)}`).join('; '),
    x: { scale, format: String, name: 'true difference in points' },
    y: { scale: { low: 0, high: 1, step: 0.2 }, format: (value) => decimal(value, 1) },
    marks: [segment([0, 0.8], [scale.high, 0.8], { colour: 'var(--muted)', width: 1, dashed: true }), ...curves],
  });
}

const described = (power: ExperimentReport['analysis']['power'], size: number): string =>
  power
    .filter(({ seeds }) => seeds === size)
    .map((row) => `${points(row.difference)} ${decimal(row.power)}`)
    .join(', ');
