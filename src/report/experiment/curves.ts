import type { EffortMeasure } from '../../domain/experiment/experiment';
import { nominalOf } from '../../domain/experiment/effort';
import { count, decimal, points } from '../../domain/formats';
import { number, properties, table } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { bandedLine, type Mark, marksChart } from '../charts/marks-chart';
import { key, note } from '../page/blocks';
import { panels, type Section } from '../page/section';
import { armColours } from './arm-colours';
import { armEfforts } from './arm-efforts';
import { withinRange } from './arms';
import { measureAxis, measureNames } from './measures';
import type { ExperimentReport } from './report';

const horizontal = ['trainedTokens', 'wallSeconds', 'usd'] as const;

/** Learning curves against nominal effort (figure 3). */
export const curvesSection: Section<ExperimentReport> = {
  id: 'curves',
  title: 'Learning curves',
  body({ record, analysis }) {
    const curves: Curves = analysis.curves.map((curve) => ({
      ...withinRange(curve),
      effort: nominalOf(armEfforts(record, analysis.look, curve.checkpoint).get(curve.arm) ?? {}),
    }));
    if (curves.length === 0) return null;
    const colours = armColours(record.experiment);
    const measures = horizontal.filter((measure) => new Set(curves.map(({ effort }) => effort[measure])).size > 1);
    return [
      note(
        'Means over the seeds at each checkpoint against mean nominal effort. Bands: pointwise 95 % intervals, cut to ' +
          '0 to 100 points.',
      ),
      panels(measures.map((measure) => curveChart(curves, measure, colours)), 340), // oxfmt-ignore
      key([...colours].map(([arm, colour]) => [colour, arm])),
      table('Learning curves', curves, [
        ...properties('arm', 'checkpoint'),
        number('mean', (curve) => curve.mean, points),
        number('95 % low', (curve) => curve.low, points),
        number('high', (curve) => curve.high, points),
        ...measures.map((measure) =>
          measure === 'usd'
            ? number<Curves[number]>(measureNames.usd, ({ effort }) => effort.usd ?? 0, decimal)
            : number<Curves[number]>(measureNames[measure], ({ effort }) => effort[measure], count),
        ),
      ]),
    ];
  },
};

type Curves = readonly (ExperimentReport['analysis']['curves'][number] & {
  effort: Partial<Record<EffortMeasure, number>>;
})[];

/** Figure 3: one panel per measure of effort. */
function curveChart(curves: Curves, measure: EffortMeasure, colours: ReadonlyMap<string, string>): Chart {
  const values = curves.flatMap(({ mean, low, high }) => [mean, low ?? mean, high ?? mean]);
  return marksChart({
    title: `Figure 3. Success against ${measureNames[measure]}`,
    description: curves
      .map(({ arm, checkpoint, mean }) => `${arm} at checkpoint ${checkpoint}: ${points(mean)}`)
      .join(', '),
    x: measureAxis(measure, curves.map(({ effort }) => effort[measure] ?? 0)), // oxfmt-ignore
    y: { scale: scaleAround(values.map((value) => 100 * value)), format: String },
    marks: [...colours].flatMap(([arm, colour]) => curveOf(curves, arm, { measure, colour })),
  });
}

function curveOf(curves: Curves, arm: string, { measure, colour }: { measure: EffortMeasure; colour: string }): Mark[] {
  const percent = (value: number | null): number | null => (value === null ? null : 100 * value);
  const own = curves
    .filter((curve) => curve.arm === arm && curve.effort[measure] !== undefined)
    .map(({ effort, mean, low, high }) => ({
      x: effort[measure]!,
      y: 100 * mean,
      low: percent(low),
      high: percent(high),
    }));
  return [...bandedLine(own, colour), ...own.map(({ x, y }): Mark => ({ kind: 'dot', at: [x, y], colour, radius: 3 }))];
}
