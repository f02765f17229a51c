import type { AnalysisOutput, ContrastResult } from '../../statistics/analysis-output';
import { type ContrastColumn, contrastColumns, type ContrastKey } from '../../statistics/contrast-columns';
import type { Experiment } from '../../domain/experiment/experiment';
import { count, decimal, interval, points, pValue, rate, signedPoints } from '../../domain/formats';
import { html } from '../../tables/html';
import { badge, type Column, number, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { box, type Mark, marksChart, segment } from '../charts/marks-chart';
import { lead, note } from '../page/blocks';
import { type Block, panels, type Section } from '../page/section';
import { markNames } from './marks';
import type { ExperimentReport } from './report';
import { inPoints, intervalName, verdictSentence } from './verdict-sentence';

/** Tests of every contrast, and the forest plot (figure 1). */
export const contrastsSection: Section<ExperimentReport> = {
  id: 'contrasts',
  title: 'Contrasts',
  body: ({ record, record: { experiment }, analysis }) => [
    lead('A replicate is a seed: each test is a paired t test over the differences by seed.'),
    note(
      `Points. CI: ${intervalName(experiment)}. Secondary p are corrected by Holm; the primary p is not. The sign-flip p ` +
        'stands beside the t test and is never chosen instead. TOST: two one-sided tests of equivalence within ' +
        `${points(experiment.analysis.margin)} points. A significant difference decides the verdict, better or worse, also where ` +
        'it is smaller than this margin; only without one may the arms be equivalent.',
    ),
    contrastsTable({ record, analysis }, 'reports'),
    panels([forest(experiment, analysis.contrasts)], 340),
    html`<ul>
      ${analysis.contrasts.map(
        (result) =>
          html`<li>
            ${verdictSentence(record, analysis, result)}${result.reasons.map((r) => html`<br /><span class="note">${inPoints(r)}</span>`)}
          </li>`,
      )}
    </ul>`,
    ...ordering(analysis.ordering),
  ],
};

/** The table of contrasts: each statistic of the list that is shown on this kind of page. */
export const contrastsTable = (
  report: Pick<ExperimentReport, 'record' | 'analysis'>,
  shown: 'reports' | 'everywhere',
) =>
  table('Contrasts', report.analysis.contrasts, [
    text('contrast', ({ contrast, kind }) => `${contrast}${kind === 'primary' ? ' (primary)' : ''}`),
    badge('verdict', (result) => result.verdict),
    text('marks', (result) => markNames(report, result)),
    ...contrastColumns.filter((column) => [shown, 'everywhere'].includes(column.shown)).map(columnOf),
  ]);

const formats = { points, signedPoints, pValue, decimal, share: rate, count, text: String };

function columnOf({ label, format, explanation, secondaryOnly, ...column }: ContrastColumn): Column<ContrastResult> {
  const [key, upperKey] = [column.key, column.upperKey] as [ContrastKey, ContrastKey | undefined];
  const shown = formats[format];
  const value = (result: ContrastResult) =>
    upperKey === undefined ? result[key] : interval(result[key], result[upperKey], shown);
  const isEmpty = ({ kind }: ContrastResult): boolean => secondaryOnly === true && kind === 'primary';
  return { ...number<ContrastResult>(label, (result) => (isEmpty(result) ? null : value(result)), shown), explanation };
}

/** Figure 1: differences with both intervals; the band is the margin of equivalence. */
export function forest({ analysis }: Experiment, contrasts: readonly ContrastResult[]): Chart {
  const { margin } = analysis;
  const ends = contrasts.flatMap(({ low, high, difference }) => [low ?? difference ?? 0, high ?? difference ?? 0]);
  const scale = scaleAround([...ends, -1.2 * margin, 1.2 * margin].map((value) => 100 * value));
  const last = contrasts.length - 0.5;
  const band = box([-100 * margin, -0.5], [100 * margin, last], { colour: 'var(--neutral)', opacity: 0.18 });
  const zero = segment([0, -0.5], [0, last], { colour: 'var(--muted)', width: 1, dashed: true });
  return marksChart({
    title: 'Figure 1. Differences of the contrasts, in points',
    description: contrasts
      .map(
        ({ contrast, difference, low, high }) =>
          `${contrast}: ${signedPoints(difference)} (${interval(low, high, signedPoints)})`,
      )
      .join('; '),
    x: { scale, format: String, name: `band: within ${points(margin)} points; thick: 90 % interval` },
    y: { slots: contrasts.map(() => '') },
    left: 14,
    height: 70 + 44 * contrasts.length,
    marks: [band, zero, ...contrasts.flatMap((result, row) => forestRow(result, row, (scale.low + scale.high) / 2))],
  });
}

const verdictColours = {
  better: 'var(--positive)',
  worse: 'var(--hard)',
  equivalent: 'var(--target)',
  inconclusive: 'var(--incumbent)',
  invalid: 'var(--incumbent)',
};

function forestRow(result: ContrastResult, row: number, middle: number): Mark[] {
  const { contrast, verdict, difference, low, high, low90, high90 } = result;
  const colour = verdictColours[verdict];
  const name: Mark = { kind: 'text', at: [middle, row - 0.12], text: `${contrast}: ${verdict}`, side: 'above' };
  if (difference === null) return [name];
  const line = (from: number | null, to: number | null, width: number): Mark[] =>
    from === null || to === null ? [] : [segment([100 * from, row + 0.15], [100 * to, row + 0.15], { colour, width })];
  return [
    ...line(low, high, 1.5),
    ...line(low90, high90, 4),
    { kind: 'dot', at: [100 * difference, row + 0.15], colour, radius: 5 },
    name,
  ];
}

function ordering(result: AnalysisOutput['ordering']): Block[] {
  if (result === null) return [];
  const adjacent = result.adjacent.map(({ contrast, p }) => `${contrast} p ${pValue(p)}`).join(', ');
  const trend =
    result.page === null ? '' : ` Page's trend test: L = ${result.page.statistic}, p ${pValue(result.page.p)}.`;
  return [
    html`<h3>Order ${result.arms.join(' < ')}</h3>`,
    note(
      `${result.chain ? 'The chain is shown: every adjacent contrast is significant.' : 'The chain is not shown.'} ` +
        `${adjacent}.${trend} The trend test supports some trend, never the chain.`,
    ),
  ];
}
