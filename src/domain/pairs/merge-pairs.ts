import { groupBy } from '../group-by';
import { pairKinds, type FailurePairSettings, type TargetPairSettings } from './pair-settings';
import type { PairingResult } from './select-pairs';

/** True if a choice of pairs depends on the pairs of all tasks. */
export const hasQuota = (settings: FailurePairSettings | TargetPairSettings): boolean =>
  'kinds' in settings
    ? Object.values(settings.kinds).some(({ maxPairs }) => maxPairs !== null)
    : settings.maxPairs !== null;

/**
 * Joins the results for different tasks without a quota: the result for all of them.
 *
 * @param parts in the order of the tasks' ids
 */
export function mergePairs(parts: readonly PairingResult[]): PairingResult {
  const dropped = groupBy(
    parts.flatMap((part) => part.dropped),
    ({ kind, reason }) => `${kind} ${reason}`,
  );
  return {
    pairs: pairKinds.flatMap((kind) => parts.flatMap(({ pairs }) => pairs.filter((pair) => pair.kind === kind))),
    dropped: [...dropped.values()].map((same) => ({
      ...same[0]!,
      count: same.reduce((sum, { count }) => sum + count, 0),
    })),
  };
}
