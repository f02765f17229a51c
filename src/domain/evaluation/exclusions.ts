import { percent } from '../formats';

/** Finished attempts of a policy or an arm, and those of them without a score: faults and attempts out of time. */
export type ExcludedAttempts = { attempts: number; excluded: number };

/** Returns the excluded attempts as text, for example `3 of 200 (1.5 %)`. */
export const excludedText = ({ attempts, excluded }: ExcludedAttempts): string =>
  excluded === 0 ? `0 of ${attempts}` : `${excluded} of ${attempts} (${percent(excluded / attempts, 1)})`;

/**
 * Returns both amounts as text if two sides of a comparison leave out different shares of their attempts; null if the shares are
 * equal. Any difference counts: the excluded attempts may be those that would have failed.
 */
export function unequalExclusions(
  [nameA, a]: readonly [string, ExcludedAttempts],
  [nameB, b]: readonly [string, ExcludedAttempts],
): string | null {
  if (a.excluded * b.attempts === b.excluded * a.attempts) return null;
  return `${nameA} ${excludedText(a)}, ${nameB} ${excludedText(b)}`;
}
