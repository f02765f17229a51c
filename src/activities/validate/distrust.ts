import { faultOf, isTrusted } from '../../domain/evaluation/judge-calibration';
import { decimal, interval } from '../../domain/formats';
import type { NewCalibration } from '../../store/tasks/judge-calibrations';

/** Returns the reason why a judge is not trusted; null if it is. */
export function distrustOf(
  { agreement, counts }: Pick<NewCalibration, 'agreement' | 'counts'>,
  bound: number,
): string | null {
  if (isTrusted({ counts }, bound)) return null;
  const { rate, low, high } = agreement;
  const found =
    rate === null
      ? 'the judge has no usable verdict in its newest calibration'
      : `the judge ${faultOf(counts)}: it agrees with ${decimal(rate)} (${interval(low, high, decimal)}) of its newest calibration`;
  const without = rate !== null && counts.unusable > 0 ? `, beside ${counts.unusable} unusable answers` : '';
  return `${found}${without}, judge.minimumAgreement is ${bound}`;
}
