import type { Effort } from '../../domain/experiment/effort';
import type { AnalysisOutput } from '../../statistics/analysis-output';
import { type EffortMeasure, effortMeasures } from '../../domain/experiment/experiment';
import { percent, points } from '../../domain/formats';
import { badge, number, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { box, type Mark, marksChart, segment } from '../charts/marks-chart';
import { note } from '../page/blocks';
import { panels, type Section } from '../page/section';
import { armEfforts } from './arm-efforts';
import { amount, measureAxis, measureNames } from './measures';
import type { ExperimentReport } from './report';

/** Nominal and paid effort, success against cost (figure 8) and effort against its rules (figure 9). */
export const costSection: Section<ExperimentReport> = {
  id: 'effort',
  title: 'Effort',
  body(report) {
    const efforts = armEfforts(report.record, report.analysis.look);
    const { effort } = report.analysis;
    return [
      note(
        'Nominal: as if each cell had run alone; the rules use it. Paid: work that was found again by its content costs ' +
          'nothing a second time. Wall times of cells that ran beside others are not comparable.',
      ),
      panels([...paretoCharts(report, efforts), ...(effort.length === 0 ? [] : [ruleBars(effort)])], 340),
      effortTable([...efforts]),
      effort.length > 0 && rulesTable(report.analysis),
    ];
  },
};

/** Figure 8 has dollars where any were spent, otherwise wall time. */
function paretoCharts({ analysis }: ExperimentReport, efforts: ReadonlyMap<string, Effort>): Chart[] {
  const spent = [...efforts.values()].some(({ usd }) => (usd?.nominal ?? 0) > 0);
  const measure: EffortMeasure = spent ? 'usd' : 'wallSeconds';
  const arms = analysis.arms.flatMap(({ arm, mean }) => {
    const cost = efforts.get(arm)?.[measure]?.nominal;
    return mean === null || cost === undefined ? [] : [{ arm, mean, cost }];
  });
  return arms.length === 0 ? [] : [pareto(arms, measure)];
}

type Priced = { arm: string; mean: number; cost: number };

/** Figure 8: arms that no other one beats in both success and cost are filled and joined. */
function pareto(arms: readonly Priced[], measure: EffortMeasure): Chart {
  const front = arms
    .filter(({ mean, cost }) => !arms.some((o) => o.mean >= mean && o.cost <= cost && (o.mean > mean || o.cost < cost)))
    .sort((a, b) => a.cost - b.cost);
  const axis = measureAxis(measure, arms.map(({ cost }) => cost)); // oxfmt-ignore
  const middle = 'scale' in axis ? axis.scale.high / 2 : 0;
  return marksChart({
    title: `Figure 8. Success against nominal ${measureNames[measure]} of a cell`,
    description: arms.map(({ arm, mean, cost }) => `${arm}: ${points(mean)} at ${amount(measure, cost)}`).join(', '),
    x: axis,
    y: { scale: scaleAround(arms.map(({ mean }) => 100 * mean)), format: String },
    marks: [
      {
        kind: 'line',
        points: front.map(({ cost, mean }) => [cost, 100 * mean]),
        colour: 'var(--target)',
        dashed: true,
      },
      ...arms.flatMap((each): Mark[] => [
        { kind: 'dot', at: [each.cost, 100 * each.mean], colour: 'var(--target)', hollow: !front.includes(each) },
        { kind: 'text', at: [each.cost, 100 * each.mean], text: each.arm, side: each.cost > middle ? 'left' : 'right' },
      ]),
    ],
  });
}

type Rules = ExperimentReport['analysis']['effort'];

/** Figure 9: largest difference over the seeds, as a bar; the allowed one, as a line. */
function ruleBars(rules: Rules): Chart {
  const scale = scaleAround([0, ...rules.flatMap(({ found, allowed }) => [100 * found, 100 * allowed])]);
  const rows = rules.flatMap(({ contrast, measure, found, allowed, holds }, row): Mark[] => {
    const colour = holds ? 'var(--positive)' : 'var(--hard)';
    return [
      box([0, row + 0.05], [100 * found, row + 0.35], { colour }),
      segment([100 * allowed, row], [100 * allowed, row + 0.4], { colour: 'var(--ink)' }),
      { kind: 'text', at: [0, row - 0.17], text: `${contrast}: ${measureNames[measure]}`, side: 'right' },
    ];
  });
  return marksChart({
    title: 'Figure 9. Effort against its rules, in % of the larger arm',
    description: rules
      .map(
        ({ contrast, measure, found, allowed }) =>
          `${contrast} ${measure}: ${percent(found, 2)} of ${percent(allowed, 2)}`,
      )
      .join('; '),
    x: { scale, format: String, name: 'bar: found; line: allowed' },
    y: { slots: rules.map(() => '') },
    left: 14,
    height: 64 + 36 * rules.length,
    marks: rows,
  });
}

function effortTable(efforts: readonly (readonly [arm: string, effort: Effort])[]) {
  // a measure of which no arm spent anything would widen the table beyond the page
  const measures = effortMeasures.filter((measure) =>
    efforts.some(([, effort]) => (effort[measure]?.nominal ?? 0) > 0),
  );
  return table('Mean effort of a cell by arm, nominal and paid', efforts, [
    text('arm', ([arm]) => arm),
    ...measures.flatMap((measure) => {
      const shown = (value: number): string => amount(measure, value);
      return [
        number<(typeof efforts)[number]>(measureNames[measure], ([, effort]) => effort[measure]?.nominal, shown),
        number<(typeof efforts)[number]>('paid', ([, effort]) => effort[measure]?.paid, shown),
      ];
    }),
  ]);
}

export const rulesTable = ({ effort }: AnalysisOutput) =>
  table('Rules of effort', effort, [
    text('contrast', (row) => row.contrast),
    text('measure', (row) => measureNames[row.measure]),
    text('rule', (row) => row.rule),
    badge('holds', (row) => (row.holds ? 'yes' : 'no')),
    number('found', (row) => percent(row.found, 2)),
    number('allowed', (row) => percent(row.allowed, 2)),
  ]);
