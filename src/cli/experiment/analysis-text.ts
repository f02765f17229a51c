import { completenessOf } from '../../domain/experiment/record';
import { type ExperimentReport, isExploratory, validityChecks, verdictSentence } from '../../report/experiment';
import { table } from '../output/output';

/** The whole analysis, `contrasts` among it, with the rules and the primary verdict as a sentence. */
export function analysisJson(report: ExperimentReport): Record<string, unknown> {
  const { record, analysis, inputHash } = report;
  const primary = analysis.contrasts.find(({ kind }) => kind === 'primary');
  return {
    experiment: record.experiment.name,
    hash: record.hash,
    inputHash,
    exploratory: isExploratory(report),
    complete: completenessOf(record, analysis.look).missing.length === 0,
    validity: validityChecks(report),
    verdict: primary ? verdictSentence(record.experiment, analysis, primary) : null,
    ...analysis,
  };
}

/** Formats a value of a metric in points, for a table; null: none. */
export const points = (value: number | null): string | null => (value === null ? null : (100 * value).toFixed(1));
const pValue = (value: number | null): string | null => (value === null ? null : value.toFixed(4));

/** The verdicts as sentences, the rules, and the tables of arms and contrasts; numbers in points. */
export function analysisText(report: ExperimentReport): string {
  const { record, analysis } = report;
  const sentences = analysis.contrasts.map((result) => verdictSentence(record.experiment, analysis, result));
  return [
    sentences.join('\n'),
    table(
      ['rule', 'holds', 'finding'],
      validityChecks(report).map(({ name, holds, finding }) => [name, holds ? 'yes' : 'no', finding]),
    ),
    ...(analysis.arms.length === 0 ? [] : [armTable(analysis)]),
    table(
      ['contrast', 'verdict', 'difference', 'low', 'high', 'p', 'adjusted p', 'TOST p'],
      analysis.contrasts.map((result) => [
        result.contrast,
        result.verdict,
        points(result.difference),
        points(result.low),
        points(result.high),
        pValue(result.p),
        pValue(result.adjustedP),
        pValue(result.equivalenceP),
      ]),
    ),
  ].join('\n\n');
}

const armTable = ({ arms }: ExperimentReport['analysis']): string =>
  table(
    ['arm', 'seeds', 'tasks', 'mean', 'sd', 'low', 'high'],
    arms.map((arm) => [
      arm.arm,
      arm.seeds,
      arm.tasks,
      points(arm.mean),
      points(arm.sd),
      points(arm.low),
      points(arm.high),
    ]),
  );
