import type { ContrastResult } from '../../../../statistics/analysis-output';
import type { Experiment } from '../../../../domain/experiment/experiment';
import { scaleAround } from '../../../charts/axes';
import { type Chart, figure } from '../../../charts/figure';
import { type Mark, marksChart } from '../../../charts/marks-chart';
import { lead, note } from '../../../page/blocks';
import { nothing } from '../../../page/format';
import { type Content, html } from '../../../page/html';
import { table } from '../../../page/table';
import { decimal, intervalName, points, pointsRange, pValue, signedPoints } from '../../model/points';
import { defineSection } from '../../model/section';
import { verdictSentence } from '../../model/verdict-sentence';

/** Tests of every contrast, and the forest plot (figure 2). */
export const contrastsSection = defineSection({
  id: 'contrasts',
  title: 'Contrasts',
  render: ({ record, analysis }) => [
    lead('A replicate is a seed: each test is a paired t test over the differences by seed.'),
    contrastTable(record.experiment, analysis.contrasts),
    html`<div class="panels">${figure(forest(record.experiment, analysis.contrasts), 340)}</div>`,
    html`<ul>
      ${analysis.contrasts.map(
        (result) =>
          html`<li>
            ${verdictSentence(record.experiment, analysis, result)}${result.reasons.map((r) => html`<br /><span class="note">${r}</span>`)}
          </li>`,
      )}
    </ul>`,
    ...ordering(analysis.ordering),
  ],
});

const contrastTable = (experiment: Experiment, contrasts: readonly ContrastResult[]): Content =>
  html`${note(
    `Points. CI: ${intervalName(experiment)}. Secondary p are corrected by Holm; the primary p is not. The sign-flip p ` +
      'stands beside the t test and is never chosen instead. TOST: two one-sided tests of equivalence within ' +
      `${points(experiment.analysis.margin)} points.`,
  )}
  ${table({
    caption: 'Contrasts',
    head: ['contrast', 'verdict', 'difference', 'CI', 'p', 'Holm p', 'sign-flip p', 'g_z', 'P(A > B)', 'TOST p'],
    textColumns: 2,
    rows: contrasts.map((result) => [
      `${result.contrast}${result.kind === 'primary' ? ' (primary)' : ''}`,
      html`<span class="badge ${result.verdict}">${result.verdict}</span>`,
      signedPoints(result.difference),
      pointsRange(result.low, result.high),
      pValue(result.p),
      result.kind === 'primary' ? nothing : pValue(result.adjustedP),
      pValue(result.signFlipP),
      decimal(result.effectSize),
      decimal(result.probability),
      pValue(result.equivalenceP),
    ]),
  })}`;

/** Figure 2: differences with both intervals; the band is the margin of equivalence. */
export function forest({ analysis }: Experiment, contrasts: readonly ContrastResult[]): Chart {
  const { margin } = analysis;
  const ends = contrasts.flatMap(({ low, high, difference }) => [low ?? difference ?? 0, high ?? difference ?? 0]);
  const scale = scaleAround([...ends, -1.2 * margin, 1.2 * margin].map((value) => 100 * value));
  const last = contrasts.length - 0.5;
  const band: Mark = {
    kind: 'area',
    colour: 'var(--neutral)',
    opacity: 0.18,
    points: [[-100 * margin, -0.5], [100 * margin, -0.5], [100 * margin, last], [-100 * margin, last]], // prettier-ignore
  };
  const zero: Mark = { kind: 'line', points: [[0, -0.5], [0, last]], colour: 'var(--muted)', width: 1, dashed: true }; // prettier-ignore
  return marksChart({
    title: 'Figure 2. Differences of the contrasts, in points',
    description: contrasts
      .map(
        ({ contrast, difference, low, high }) => `${contrast}: ${signedPoints(difference)} (${pointsRange(low, high)})`,
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
    from === null || to === null
      ? []
      : [{ kind: 'line', points: [[100 * from, row + 0.15], [100 * to, row + 0.15]], colour, width }]; // prettier-ignore
  return [
    ...line(low, high, 1.5),
    ...line(low90, high90, 4),
    { kind: 'dot', at: [100 * difference, row + 0.15], colour, radius: 5 },
    name,
  ];
}

function ordering(result: Parameters<typeof contrastsSection.render>[0]['analysis']['ordering']): Content[] {
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
