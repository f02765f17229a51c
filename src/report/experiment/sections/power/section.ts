import { type Chart, figure } from '../../../charts/figure';
import { type Mark, marksChart, type Position } from '../../../charts/marks-chart';
import { scaleAround } from '../../../charts/axes';
import { key, note } from '../../../page/blocks';
import { html } from '../../../page/html';
import { table } from '../../../page/table';
import { decimal, points } from '../../model/points';
import type { ExperimentReport } from '../../model/report';
import { defineSection } from '../../model/section';

/** Power of the primary contrast at its observed deviation (figure 9). */
export const powerSection = defineSection({
  id: 'power',
  title: 'Power',
  render({ record, analysis }) {
    if (analysis.power.length === 0) return null;
    const sizes = [...new Set(analysis.power.map(({ seeds }) => seeds))];
    const primary = analysis.contrasts.find(({ kind }) => kind === 'primary');
    const needed = primary?.seedsNeeded ?? null;
    return [
      note(
        `Deviation of the differences by seed: ${points(primary?.sd ?? null)} points. ` +
          `${analysis.look} seeds detect ${points(primary?.detectable ?? null)} points with 80 % power; ` +
          `${points(record.experiment.analysis.margin)} points need ${needed ?? 'more than 10,000'} seeds.` +
          (analysis.conditionalPower === null
            ? ''
            : ` Conditional power at the last look: ${decimal(analysis.conditionalPower)}.`),
      ),
      html`<div class="panels">${figure(powerChart(analysis.power, sizes), 340)}</div>`,
      key(sizes.map((seeds, i) => [colours[i % colours.length]!, `${seeds} seeds`])),
      table({
        caption: 'Power by difference and number of seeds',
        head: ['difference', ...sizes.map((seeds) => `${seeds} seeds`)],
        rows: [...new Set(analysis.power.map(({ difference }) => difference))].map((difference) => [
          points(difference),
          ...sizes.map((seeds) =>
            decimal(analysis.power.find((row) => row.seeds === seeds && row.difference === difference)?.power ?? null),
          ),
        ]),
      }),
    ];
  },
});

const colours = ['var(--target)', 'var(--positive)', 'var(--failure)', 'var(--hard)'];

/** Figure 9. */
function powerChart(power: ExperimentReport['analysis']['power'], sizes: readonly number[]): Chart {
  const largest = Math.max(...power.map(({ difference }) => difference));
  const scale = scaleAround([0, 100 * largest]);
  const curves = sizes.map((seeds, i): Mark => {
    const own = power.filter((row) => row.seeds === seeds);
    const line = own.map(({ difference, power: share }): Position => [100 * difference, share]);
    return { kind: 'line', points: line, colour: colours[i % colours.length]! };
  });
  return marksChart({
    title: 'Figure 9. Power of the primary contrast',
    description: sizes
      .map(
        (seeds) =>
          `${seeds} seeds: ${power
            .filter((row) => row.seeds === seeds)
            .map((row) => `${points(row.difference)} ${decimal(row.power)}`)
            .join(', ')}`,
      ) // prettier-ignore
      .join('; '),
    x: { scale, format: String, name: 'true difference in points' },
    y: { scale: { low: 0, high: 1, step: 0.2 }, format: (value) => value.toFixed(1) },
    marks: [
      { kind: 'line', points: [[0, 0.8], [scale.high, 0.8]], colour: 'var(--muted)', width: 1, dashed: true }, // prettier-ignore
      ...curves,
    ],
  });
}
