import type { Effort } from '../../../../domain/experiment/analysis';
import { type EffortMeasure, effortMeasures } from '../../../../domain/experiment/experiment';
import { scaleAround } from '../../../charts/axes';
import { type Chart, figure } from '../../../charts/figure';
import { type Mark, marksChart } from '../../../charts/marks-chart';
import { note } from '../../../page/blocks';
import { nothing } from '../../../page/format';
import { type Content, html } from '../../../page/html';
import { table } from '../../../page/table';
import { armEfforts } from '../../model/arm-efforts';
import { amount, measureAxis, measureNames, percentText } from '../../model/measures';
import { points } from '../../model/points';
import type { ExperimentReport } from '../../model/report';
import { defineSection } from '../../model/section';

/** Nominal and paid effort, success against cost (figure 4) and effort against its rules (figure 6). */
export const costSection = defineSection({
  id: 'effort',
  title: 'Effort',
  render(report) {
    const efforts = armEfforts(report.record, report.analysis.look);
    const { effort } = report.analysis;
    return [
      note(
        'Nominal: as if each cell had run alone; the rules use it. Paid: work that was found again by its content costs ' +
          'nothing a second time. Wall times of cells that ran beside others are not comparable.',
      ),
      html`<div class="panels">
        ${paretoCharts(report, efforts)} ${effort.length === 0 ? '' : figure(ruleBars(effort), 340)}
      </div>`,
      effortTable(efforts),
      ...(effort.length === 0 ? [] : [ruleTable(effort)]),
    ];
  },
});

/** Figure 4 has dollars where any were spent, otherwise wall time. */
function paretoCharts({ analysis }: ExperimentReport, efforts: ReadonlyMap<string, Effort>): Content {
  const spent = [...efforts.values()].some(({ usd }) => (usd?.nominal ?? 0) > 0);
  const measure: EffortMeasure = spent ? 'usd' : 'wallSeconds';
  const arms = analysis.arms.flatMap(({ arm, mean }) => {
    const cost = efforts.get(arm)?.[measure]?.nominal;
    return mean === null || cost === undefined ? [] : [{ arm, mean, cost }];
  });
  return arms.length === 0 ? '' : figure(pareto(arms, measure), 340);
}

type Priced = { arm: string; mean: number; cost: number };

/** Figure 4: arms that no other one beats in both success and cost are filled and joined. */
function pareto(arms: readonly Priced[], measure: EffortMeasure): Chart {
  const front = arms
    .filter(({ mean, cost }) => !arms.some((o) => o.mean >= mean && o.cost <= cost && (o.mean > mean || o.cost < cost)))
    .sort((a, b) => a.cost - b.cost);
  const axis = measureAxis(measure, arms.map(({ cost }) => cost)); // prettier-ignore
  const middle = 'scale' in axis ? axis.scale.high / 2 : 0;
  return marksChart({
    title: `Figure 4. Success against nominal ${measureNames[measure]} of a cell`,
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

/** Figure 6: largest difference over the seeds, as a bar; the allowed one, as a line. */
function ruleBars(rules: Rules): Chart {
  const scale = scaleAround([0, ...rules.flatMap(({ found, allowed }) => [100 * found, 100 * allowed])]);
  const rows = rules.flatMap(({ contrast, measure, found, allowed, holds }, row): Mark[] => {
    const [top, bottom, end] = [row + 0.05, row + 0.35, 100 * found];
    const colour = holds ? 'var(--positive)' : 'var(--hard)';
    return [
      { kind: 'area', points: [[0, top], [end, top], [end, bottom], [0, bottom]], colour }, // prettier-ignore
      { kind: 'line', points: [[100 * allowed, row], [100 * allowed, row + 0.4]], colour: 'var(--ink)' }, // prettier-ignore
      { kind: 'text', at: [0, row - 0.17], text: `${contrast}: ${measureNames[measure]}`, side: 'right' },
    ];
  });
  return marksChart({
    title: 'Figure 6. Effort against its rules, in % of the larger arm',
    description: rules
      .map(
        ({ contrast, measure, found, allowed }) =>
          `${contrast} ${measure}: ${percentText(found)} of ${percentText(allowed)}`,
      )
      .join('; '),
    x: { scale, format: String, name: 'bar: found; line: allowed' },
    y: { slots: rules.map(() => '') },
    left: 14,
    height: 64 + 36 * rules.length,
    marks: rows,
  });
}

const effortTable = (efforts: ReadonlyMap<string, Effort>): Content => {
  const measures = effortMeasures.filter((measure) => [...efforts.values()].some((effort) => measure in effort));
  return table({
    caption: 'Mean effort of a cell by arm, nominal and paid',
    head: ['arm', ...measures.flatMap((measure) => [measureNames[measure], 'paid'])],
    rows: [...efforts].map(([arm, effort]) => [
      arm,
      ...measures.flatMap((measure) => {
        const found = effort[measure];
        return found ? [amount(measure, found.nominal), amount(measure, found.paid)] : [nothing, nothing];
      }),
    ]),
  });
};

const ruleTable = (rules: Rules): Content =>
  table({
    caption: 'Rules of effort',
    head: ['contrast', 'measure', 'rule', 'holds', 'found', 'allowed'],
    textColumns: 4,
    rows: rules.map(({ contrast, measure, rule, holds, found, allowed }) => [
      contrast,
      measureNames[measure],
      rule,
      html`<span class="badge ${holds ? 'yes' : 'no'}">${holds ? 'yes' : 'no'}</span>`,
      percentText(found),
      percentText(allowed),
    ]),
  });
