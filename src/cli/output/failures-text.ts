import type { FailureShare } from '../../client/campaign-details';
import { wilsonInterval } from '../../domain/evaluation/statistics';
import { count, interval, percent } from '../../domain/formats';

/** Formats the failures of each agent as lines, with work for an operator if the failure agent has drifted below a bound. */
export const failuresText = (failures: readonly FailureShare[]): string[] => failures.flatMap(linesOf);

function linesOf({ iteration, role, failures, nearMisses, strange, bounds, isBelow }: FailureShare): string[] {
  const { low, high } = wilsonInterval(nearMisses, failures);
  const share = `${percent(nearMisses / failures)} (${interval(low, high, percent)})`;
  const odd = strange === null ? '' : `, ${count(strange)} have an action that no reference action has`;
  const found = `failures of the ${role === 'target' ? role : `${role} agent`} in iteration ${iteration}: ${count(nearMisses)} of ${count(failures)} are near misses, ${share}${odd}`;
  if (isBelow.stopBelow)
    return [
      `needs attention: ${found}; below pairs.nearMisses.stopBelow ${bounds.stopBelow}, so it was not trained further`,
    ];
  if (!isBelow.warnBelow) return [found];
  return [
    `needs attention: ${found}; below pairs.nearMisses.warnBelow ${bounds.warnBelow}: it learns to fail, not to nearly succeed; ` +
      'pairs.nearMisses.stopBelow in a fork or another campaign stops its training there',
  ];
}
