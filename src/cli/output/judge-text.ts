import type { JudgeTrust } from '../../client/campaign-details';
import { faultOf } from '../../domain/evaluation/judge-calibration';
import { decimal, interval } from '../../domain/formats';

/** Formats the newest calibration of the judge as one line, and as work for an operator if the judge cannot be trusted. */
export function judgeText(
  name: string,
  { iteration, agreement, counts, minimumAgreement, isTrusted }: JudgeTrust,
): string {
  const { rate, low, high } = agreement;
  const { truePositives, falseNegatives, trueNegatives, falsePositives, unusable } = counts;
  const found =
    `the judge approves ${truePositives} of ${truePositives + falseNegatives} right runs and ` +
    `${falsePositives} of ${trueNegatives + falsePositives} corrupted ones in the calibration of iteration ${iteration}` +
    (unusable > 0 ? `, with ${unusable} unusable answers` : '');
  const measured = rate === null ? found : `${found}: agreement ${decimal(rate)} (${interval(low, high, decimal)})`;
  if (isTrusted) return measured;
  return (
    `needs attention: the judge ${faultOf(counts)} and is not trusted: ${measured}, with judge.minimumAgreement ` +
    `${minimumAgreement}; its votes admit nothing: \`coevolve calls ${name} --role judge\``
  );
}
