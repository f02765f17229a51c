import type { AnalysisOutput, ContrastResult } from '../../statistics/analysis-output';
import { pEquals, points, signedPoints } from '../../domain/formats';
import { escapeLatex, latexTable } from '../../tables/latex-table';
import { number, table, text } from '../../tables/table';
import { marksOf } from './marks';
import type { ExperimentReport } from './report';
import { intervalName } from './verdict-sentence';

/**
 * The arms as a booktabs table: mean and deviation over seeds, and the difference of each arm in its contrasts. An arm is
 * bold only where a contrast found it better after the correction.
 */
export function experimentLatex(report: ExperimentReport): string {
  const { record, analysis } = report;
  const { experiment } = record;
  const best = new Set(analysis.contrasts.filter(({ verdict }) => verdict === 'better').map(({ plus }) => plus));
  for (const { verdict, minus } of analysis.contrasts) if (verdict === 'worse') best.add(minus);
  const arms = table('', analysis.arms, [
    text('Arm', ({ arm }) => escapeLatex(arm)),
    number(`${escapeLatex(experiment.analysis.metric)} (points)`, ({ arm, mean, sd }) =>
      value(mean, sd, best.has(arm)),
    ),
  ]);
  const contrasts = table('', analysis.contrasts, [
    text('', ({ contrast }) => escapeLatex(contrast)),
    number('', (contrast) => `${difference(contrast)}${marked(report, contrast)}`),
  ]);
  return `${[
    '% needs \\usepackage{booktabs}',
    '\\begin{table}',
    '\\centering',
    `\\caption{${escapeLatex(experiment.question)}}`,
    latexTable([arms, contrasts]),
    '',
    `\\footnotesize ${footnote(experiment, analysis)}`,
    '\\end{table}',
  ].join('\n')}\n`;
}

function value(mean: number | null, sd: number | null, isBold: boolean): string | null {
  if (mean === null) return null;
  return `$${isBold ? `\\mathbf{${points(mean)}}` : points(mean)}${sd === null ? '' : ` \\pm ${points(sd)}`}$`;
}

function difference({ verdict, difference: found, low, high, ...others }: ContrastResult): string {
  if (found === null || low === null || high === null) return escapeLatex(verdict);
  const p = others.kind === 'primary' ? others.p : others.adjustedP; // the secondary family is corrected
  const { twoWayLow, twoWayHigh } = others;
  return [
    `$${signed(found)}$ ${bounds(low, high)}`,
    ...(twoWayLow === null || twoWayHigh === null ? [] : [`two-way ${bounds(twoWayLow, twoWayHigh)}`]),
    ...(p === null ? [] : [`$${pEquals(p)}$`]),
    escapeLatex(verdict),
  ].join(', ');
}

const signed = (share: number): string => signedPoints(share).replace('−', '-');
const bounds = (low: number, high: number): string => `[$${signed(low)}$, $${signed(high)}$]`;

/** Marks stand behind the verdict that they put in doubt. */
function marked(report: ExperimentReport, contrast: ContrastResult): string {
  const marks = marksOf(report, contrast).map(({ mark }) => mark);
  return marks.length === 0 ? '' : escapeLatex(` (${marks.join(', ')})`);
}

function footnote(experiment: ExperimentReport['record']['experiment'], { look, arms }: AnalysisOutput): string {
  const tasks = [...new Set(arms.map((arm) => arm.tasks))].join(', ');
  return [
    `Mean $\\pm$ standard deviation over $S = ${look}$ seeds, $n = ${tasks}$ test tasks each.`,
    `Differences: paired $t$ test over seeds, ${escapeLatex(intervalName(experiment))} in brackets;`,
    'two-way: the same with an error clustered by seed and task;',
    `the primary contrast (${escapeLatex(experiment.analysis.primary.name)}) uncorrected, the others corrected by Holm;`,
    `equivalence by TOST within ${Number(points(experiment.analysis.margin, 2))} points.`,
    'Bold: better after the correction.',
  ].join(' ');
}
