import type { AnalysisOutput, ContrastResult } from '../../statistics/analysis-output';
import type { Experiment } from '../../domain/experiment/experiment';
import type { ExperimentRecord } from '../../domain/experiment/record';
import { counted, interval, percent, points, pValue, signedPoints } from '../../domain/formats';
import { marksOf } from './marks';

/**
 * Returns the finding of a contrast as one sentence, for example "signals against random: inconclusive, +1.2 points,
 * 95 % −2.1 to +4.5, 8 seeds, 500 tasks; detectable 4.8; equivalence within 5 not shown". It ends with the
 * marks that put the verdict in doubt, if any.
 */
export function verdictSentence(record: ExperimentRecord, analysis: AnalysisOutput, result: ContrastResult): string {
  const marks = marksOf({ record, analysis }, result).flatMap(
    ({ mark, findings }) => `${mark}: ${findings.join(', ')}`,
  );
  return [finding(record.experiment, analysis, result), ...marks].join('; ');
}

function finding(experiment: Experiment, analysis: AnalysisOutput, result: ContrastResult): string {
  const { plus, minus, verdict, difference, low, high, seeds, reasons } = result;
  const { margin } = experiment.analysis;
  const name = `${plus} against ${minus}: ${verdict}`;
  if (verdict === 'invalid' || difference === null) return [name, ...reasons.slice(0, 1).map(inPoints)].join(', ');
  const tasks = taskCount(analysis, result);
  const bounds = low === null ? [] : [`${intervalName(experiment)} ${interval(low, high, signedPoints)}`];
  const size = [counted(seeds, 'seed'), counted(tasks, 'task')];
  return [
    [name, `${signedPoints(difference)} points`, ...bounds, ...size].join(', '),
    ...(low === null ? reasons.slice(0, 1).map(inPoints) : []),
    ...companionFinding(result),
    ...(result.detectable === null ? [] : [`detectable ${points(result.detectable)}`]),
    `equivalence within ${Number((100 * margin).toFixed(2))} ${isWithin(result, margin) ? '' : 'not '}shown`,
  ].join('; ');
}

const companionFinding = ({ companion, trimmed, trimmedP }: ContrastResult): string[] =>
  companion === null || trimmed === null
    ? []
    : [`declared companion: ${companion}, trimmed mean ${signedPoints(trimmed)}, p ${pValue(trimmedP)}`];

/** Returns a reason of a verdict with its differences and margins in points, the unit of the page. */
export const inPoints = (reason: string): string =>
  reason.replace(
    /(margin of|within|difference is) (-?[\d.]+(?:e-\d+)?)(?=$| \(p| at every)/g,
    (_, before: string, share: string) => `${before} ${Number((100 * Number(share)).toPrecision(4))} points`,
  );

/** A difference can be significant, which decides its verdict, and be shown to lie within the margin. */
const isWithin = ({ verdict, low90, high90 }: ContrastResult, margin: number): boolean =>
  verdict === 'equivalent' || (low90 !== null && high90 !== null && low90 > -margin && high90 < margin);

/** Returns the number of test tasks of a cell; the smaller of the two arms. */
export function taskCount({ arms }: AnalysisOutput, { plus, minus }: Pick<ContrastResult, 'plus' | 'minus'>): number {
  const counts = arms.filter(({ arm }) => arm === plus || arm === minus).map(({ tasks }) => tasks);
  return counts.length === 0 ? 0 : Math.min(...counts);
}

/** Name of the interval of a contrast: 95 % at alpha 0.05 and one look; two looks share alpha. */
export const intervalName = ({ looks, analysis }: Pick<Experiment, 'looks' | 'analysis'>): string =>
  looks.length === 1 ? percent(1 - analysis.alpha, 2) : 'interval at the level of this look';
