import type { AnalysisOutput, ContrastResult } from '../../../statistics/analysis-output';
import { decisiveP, intervalName } from '../model/points';
import type { ExperimentReport } from '../model/report';

/**
 * The arms as a booktabs table: mean and deviation over seeds, and the difference of each arm in its contrasts. An arm is
 * bold only where a contrast found it better after the correction.
 */
export function experimentLatex({ record, analysis }: ExperimentReport): string {
  const { experiment } = record;
  const best = new Set(analysis.contrasts.filter(({ verdict }) => verdict === 'better').map(({ plus }) => plus));
  for (const { verdict, minus } of analysis.contrasts) if (verdict === 'worse') best.add(minus);
  return `${[
    '% needs \\usepackage{booktabs}',
    '\\begin{table}',
    '\\centering',
    `\\caption{${escaped(experiment.question)}}`,
    '\\begin{tabular}{lr}',
    '\\toprule',
    `Arm & ${escaped(experiment.analysis.metric)} (points) \\\\`,
    '\\midrule',
    ...analysis.arms.map(({ arm, mean, sd }) => `${escaped(arm)} & ${value(mean, sd, best.has(arm))} \\\\`),
    '\\midrule',
    ...analysis.contrasts.map((result) => `${escaped(result.contrast)} & ${difference(result)} \\\\`),
    '\\bottomrule',
    '\\end{tabular}',
    '',
    `\\footnotesize ${footnote(experiment, analysis)}`,
    '\\end{table}',
  ].join('\n')}\n`;
}

function value(mean: number | null, sd: number | null, isBold: boolean): string {
  if (mean === null) return '--';
  const number = (100 * mean).toFixed(1);
  return `$${isBold ? `\\mathbf{${number}}` : number}${sd === null ? '' : ` \\pm ${(100 * sd).toFixed(1)}`}$`;
}

function difference(result: ContrastResult): string {
  const { verdict, difference: found, low, high } = result;
  if (found === null || low === null || high === null) return escaped(verdict);
  const signed = (number: number): string => `${number < 0 ? '' : '+'}${(100 * number).toFixed(1)}`;
  const p = decisiveP(result);
  const shown = p === null ? '' : p < 0.001 ? ', $p < 0.001$' : `, $p = ${p.toFixed(3)}$`;
  return `$${signed(found)}$ [$${signed(low)}$, $${signed(high)}$]${shown}, ${escaped(verdict)}`;
}

function footnote(experiment: ExperimentReport['record']['experiment'], { look, arms }: AnalysisOutput): string {
  const tasks = [...new Set(arms.map((arm) => arm.tasks))].join(', ');
  return [
    `Mean $\\pm$ standard deviation over $S = ${look}$ seeds, $n = ${tasks}$ test tasks each.`,
    `Differences: paired $t$ test over seeds, ${escaped(intervalName(experiment))} in brackets;`,
    `the primary contrast (${escaped(experiment.analysis.primary.name)}) uncorrected, the others corrected by Holm;`,
    `equivalence by TOST within ${Number((100 * experiment.analysis.margin).toFixed(2))} points.`,
    'Bold: better after the correction.',
  ].join(' ');
}

const commands: Record<string, string> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
};

const escaped = (text: string): string =>
  text
    .replaceAll(/[\\~^<>&%$#_{}]/g, (letter) => commands[letter] ?? `\\${letter}`)
    .replaceAll('−', '--')
    .replaceAll(/\s+/g, ' ');
