import { percentText } from '../model/measures';
import { decimal, intervalName, points, pointsRange, pValue, signedPoints } from '../model/points';
import type { ExperimentReport } from '../model/report';
import { validityChecks } from '../model/validity';
import { verdictSentence } from '../model/verdict-sentence';

/** The verdict, the rules, and the tables of arms and contrasts as Markdown. */
export function experimentMarkdown(report: ExperimentReport): string {
  const { record, analysis, inputHash } = report;
  const { experiment } = record;
  return (
    [
      `# ${escaped(experiment.name)}`,
      escaped(experiment.question),
      analysis.contrasts.map((result) => `- ${escaped(verdictSentence(experiment, analysis, result))}`).join('\n'),
      table(
        ['rule', 'holds', 'finding'],
        validityChecks(report).map(({ name, holds, finding }) => [name, holds ? 'yes' : 'no', finding]),
      ),
      `Points of ${escaped(experiment.analysis.metric)}; one value per seed.`,
      table(
        ['arm', 'seeds', 'tasks', 'mean', 'sd', 'min', 'max', 'IQM', '95 % interval'],
        analysis.arms.map((arm) => [
          arm.arm,
          String(arm.seeds),
          String(arm.tasks),
          points(arm.mean),
          points(arm.sd),
          points(arm.min),
          points(arm.max),
          points(arm.iqm),
          `${points(arm.low)} to ${points(arm.high)}`,
        ]),
      ),
      contrastsTable(report),
      ...(analysis.effort.length === 0
        ? []
        : [
            table(
              ['contrast', 'measure', 'rule', 'holds', 'found', 'allowed'],
              analysis.effort.map(({ contrast, measure, rule, holds, found, allowed }) => [
                contrast,
                measure,
                rule,
                holds ? 'yes' : 'no',
                percentText(found),
                percentText(allowed),
              ]),
            ),
          ]),
      `Frozen file \`${record.hash}\`, analysed input \`${inputHash}\`.`,
    ].join('\n\n') + '\n'
  );
}

const contrastsTable = ({ record: { experiment }, analysis }: ExperimentReport): string =>
  table(
    ['contrast', 'verdict', 'difference', `CI (${intervalName(experiment)})`, 'p', 'Holm p', 'sign-flip p', 'g_z', 'P(A > B)', 'TOST p'], // prettier-ignore
    analysis.contrasts.map((result) => [
      `${result.contrast}${result.kind === 'primary' ? ' (primary)' : ''}`,
      result.verdict,
      signedPoints(result.difference),
      pointsRange(result.low, result.high),
      pValue(result.p),
      result.kind === 'primary' ? '–' : pValue(result.adjustedP),
      pValue(result.signFlipP),
      decimal(result.effectSize),
      decimal(result.probability),
      pValue(result.equivalenceP),
    ]),
  );

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((_, i) => (i === 0 ? '---' : '---:')), ...rows.map((row) => row.map(escaped))]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');

/** Texts of files and servers must not become markup. */
const escaped = (text: string): string =>
  text
    .replaceAll(/[\\`*_[\]|#]/g, '\\$&')
    .replaceAll('<', '&lt;')
    .replaceAll(/[\r\n]+/g, ' ');
