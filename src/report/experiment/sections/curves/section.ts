import type { EffortMeasure } from '../../../../domain/experiment/experiment';
import { nominalOf } from '../../../../domain/experiment/mean-effort';
import { scaleAround } from '../../../charts/axes';
import { type Chart, figure } from '../../../charts/figure';
import { bandedLine, type Mark, marksChart } from '../../../charts/marks-chart';
import { key, note } from '../../../page/blocks';
import { count } from '../../../page/format';
import { html } from '../../../page/html';
import { table } from '../../../page/table';
import { armColours } from '../../model/arm-colours';
import { armEfforts } from '../../model/arm-efforts';
import { measureAxis, measureNames } from '../../model/measures';
import { points } from '../../model/points';
import type { ExperimentReport } from '../../model/report';
import { defineSection } from '../../model/section';

const horizontal = ['trainedTokens', 'wallSeconds', 'usd'] as const;

/** Learning curves against nominal effort (figure 3). */
export const curvesSection = defineSection({
  id: 'curves',
  title: 'Learning curves',
  render({ record, analysis }) {
    const curves = analysis.curves.map((curve) => ({
      ...curve,
      effort: nominalOf(armEfforts(record, analysis.look, curve.checkpoint).get(curve.arm) ?? {}),
    }));
    if (curves.length === 0) return null;
    const colours = armColours(record.experiment);
    const measures = horizontal.filter((measure) => new Set(curves.map(({ effort }) => effort[measure])).size > 1);
    return [
      note('Means over the seeds at each checkpoint against mean nominal effort. Bands: pointwise 95 % intervals.'),
      html`<div class="panels">${measures.map((measure) => figure(curveChart(curves, measure, colours), 340))}</div>`,
      key([...colours].map(([arm, colour]) => [colour, arm])),
      table({
        caption: 'Learning curves',
        head: ['arm', 'checkpoint', 'mean', '95 % low', 'high', ...measures.map((measure) => measureNames[measure])],
        rows: curves.map(({ arm, checkpoint, mean, low, high, effort }) => [
          arm,
          String(checkpoint),
          points(mean),
          points(low),
          points(high),
          ...measures.map((measure) =>
            measure === 'usd' ? (effort.usd ?? 0).toFixed(2) : count(effort[measure] ?? null),
          ),
        ]),
      }),
    ];
  },
});

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
    x: measureAxis(measure, curves.map(({ effort }) => effort[measure] ?? 0)), // prettier-ignore
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
