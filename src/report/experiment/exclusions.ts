import { type ExcludedAttempts, excludedText, unequalExclusions } from '../../domain/evaluation/exclusions';
import type { ExperimentRecord } from '../../domain/experiment/record';
import type { ContrastResult } from '../../statistics/analysis-output';
import { total } from '../campaign/campaign-data';

/**
 * Returns the attempts of an arm at `test` that have no score, over the seeds of the look. Null for a table of before
 * they were recorded.
 */
export function exclusionsOf({ cells }: ExperimentRecord, look: number, arm: string): ExcludedAttempts | null {
  const played = cells.filter((cell) => cell.arm === arm && cell.seed <= look && cell.status === 'finished');
  const recorded = played.flatMap(({ manifest }) => manifest?.exclusions ?? []);
  if (recorded.length === 0 || recorded.length < played.length) return null;
  return {
    attempts: total(recorded, ({ attempts }) => attempts),
    excluded: total(recorded, ({ excluded }) => excluded),
  };
}

/** Returns the excluded attempts of an arm as text, or null if they are not recorded. */
export const exclusionsText = (record: ExperimentRecord, look: number, arm: string): string | null => {
  const found = exclusionsOf(record, look, arm);
  return found && excludedText(found);
};

/** Returns both amounts as text if the two arms of a contrast leave out different shares of their attempts. */
export function unequalArms(
  record: ExperimentRecord,
  look: number,
  { plus, minus }: Pick<ContrastResult, 'plus' | 'minus'>,
): string | null {
  const [ofPlus, ofMinus] = [exclusionsOf(record, look, plus), exclusionsOf(record, look, minus)];
  return ofPlus && ofMinus && unequalExclusions([plus, ofPlus], [minus, ofMinus]);
}
