import type { ContrastResult } from '../../../statistics/analysis-output';
import type { Experiment } from '../../../domain/experiment/experiment';
import { nothing } from '../../page/format';

/** Formats a value of the metric in points: 0.01 is one point. */
export const points = (value: number | null, digits = 1): string =>
  value === null ? nothing : withSign((100 * value).toFixed(digits), false);

/** Formats a difference in points with its sign. */
export const signedPoints = (value: number | null, digits = 1): string =>
  value === null ? nothing : withSign((100 * value).toFixed(digits), true);

/** U+2212 for minus; a value that rounds to 0 has no sign. */
function withSign(text: string, always: boolean): string {
  const magnitude = text.replace('-', '');
  if (Number(magnitude) === 0) return magnitude;
  return text.startsWith('-') ? `−${magnitude}` : `${always ? '+' : ''}${magnitude}`;
}

/** Name of the interval of a contrast: 95 % at alpha 0.05 and one look; two looks share alpha. */
export const intervalName = ({ looks, analysis }: Pick<Experiment, 'looks' | 'analysis'>): string =>
  looks.length === 1 ? `${Number((100 * (1 - analysis.alpha)).toFixed(2))} %` : 'interval at the level of this look';

/** Formats a p value; one below 0.001 is given as a bound. */
export const pValue = (p: number | null): string => (p === null ? nothing : p < 0.001 ? '< 0.001' : p.toFixed(3));

/** Formats a number with `digits` decimals. */
export const decimal = (value: number | null, digits = 2): string =>
  value === null ? nothing : `${value < 0 ? '−' : ''}${Math.abs(value).toFixed(digits)}`;

/** Formats an interval in points with signs. */
export const pointsRange = (low: number | null, high: number | null): string =>
  low === null || high === null ? nothing : `${signedPoints(low)} to ${signedPoints(high)}`;

/** Returns the p value that decides: corrected for the secondary family, as it is for the primary contrast. */
export const decisiveP = ({ kind, p, adjustedP }: ContrastResult): number | null =>
  kind === 'primary' ? p : adjustedP;
