import { mean } from '../../domain/evaluation/statistics';
import { type PoolShare, poolShareOf, shareIn } from '../../domain/experiment/pool-shares';
import { counted, percent, points } from '../../domain/formats';
import { armEfforts } from './arm-efforts';
import { amount, measureNames } from './measures';
import type { ContrastResult } from '../../statistics/analysis-output';
import type { ExperimentReport } from './report';

type Analysed = Pick<ExperimentReport, 'record' | 'analysis'>;

/**
 * Returns why a contrast is equivalent whatever its methods do, or null: both arms score within the margin of 0 or of 1, or
 * they answer fewer tasks differently than the margin. An area under a curve and a reward have no share of answers.
 */
export function whyAlwaysEquivalent({ record, analysis }: Analysed, contrast: ContrastResult): string | null {
  const { margin, metric, secondary } = record.experiment.analysis;
  if (contrast.verdict !== 'equivalent' || metric.startsWith('aulc')) return null;
  const compared = poolShareOf(secondary.find(({ name }) => name === contrast.contrast)?.metric ?? '');
  const means = analysis.arms
    .filter(({ arm }) => arm === contrast.plus || arm === contrast.minus)
    .map((row) => (compared ? meanShare(record, compared, { arm: row.arm, look: analysis.look }) : row.mean));
  const within = `the margin is ${points(margin)} points`;
  const shown = means.map((value) => points(value)).join(' and ');
  if (means.every((value) => value !== null && value < margin)) return `both arms score ${shown}, ${within}`;
  if (means.every((value) => value !== null && value > 1 - margin)) return `both arms score ${shown} of 100, ${within}`;
  const { changed } = contrast;
  return changed === null || changed >= margin || !metric.startsWith('success')
    ? null
    : `the arms answer ${percent(changed)} of the tasks differently, ${within}`;
}

function meanShare(
  { cells }: ExperimentReport['record'],
  compared: PoolShare,
  { arm, look }: { arm: string; look: number },
): number | null {
  const own = cells.filter((cell) => cell.arm === arm && cell.seed <= look);
  const shares = own.map((cell) => shareIn(cell, compared)).filter((share) => share !== null);
  return shares.length === 0 ? null : mean(shares);
}

/** Measures of the data that an arm trains on. A rule of effort may declare that they are equal. */
const dataMeasures = [
  'likelihoodRows',
  'expertRows',
  'expertTargetPairs',
  'expertFailurePairs',
  'expertPositivePairs',
  'failurePairs',
  'admittedTasks',
] as const;
/** Share of the larger amount, above the differences of an arm from itself (A/A: 6 to 16 % of tokens). */
const unlike = 0.2;

/** Returns the data in which the arms of a contrast differ and for which the file has no rule, or null. */
export function unlikeData({ record, analysis }: Analysed, { contrast, plus, minus }: ContrastResult): string | null {
  const { equal, within } = record.experiment.match;
  const efforts = armEfforts(record, analysis.look);
  const differing = dataMeasures.flatMap((measure) => {
    const [a, b] = [plus, minus].map((arm) => efforts.get(arm)?.[measure]?.nominal);
    if (a === undefined || b === undefined || equal.includes(measure) || measure in within) return [];
    if (Math.abs(a - b) <= unlike * Math.max(a, b)) return [];
    return [`${measureNames[measure]} ${amount(measure, a)} against ${amount(measure, b)}`];
  });
  return differing.length === 0 ? null : `${contrast}: ${differing.join(', ')}`;
}

/** Returns whether the cells of a table have the measures of data; an older one lacks them. */
export const hasDataMeasures = ({ record, analysis }: Analysed): boolean =>
  [...armEfforts(record, analysis.look).values()].some((effort) => dataMeasures.some((measure) => effort[measure]));

/** Lists the arms with a policy that ends far below its start, with the seeds. */
export const collapsedArms = ({ analysis }: Analysed): { arm: string; finding: string }[] =>
  analysis.arms
    .filter(({ collapsed }) => collapsed.length > 0)
    .map(({ arm, collapsed, seeds }) => ({
      arm,
      finding: `${collapsed.length} of ${counted(seeds, 'seed')} of ${arm} collapsed (${collapsed.join(', ')}), and move the mean`,
    }));
