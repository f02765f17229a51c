import { isBelow } from '../../domain/pairs/near-misses';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';

/** Records once that the failure agent of an iteration has drifted below a bound of the spec. */
export async function recordDrift({ store }: Dependencies, key: IterationKey, spec: CampaignSpec): Promise<void> {
  const { campaignId, iteration } = key;
  const { hardNegativeReward: hardFrom, nearMisses: bounds } = spec.pairs;
  const counts = await store.failureCounts.list(campaignId, { hardFrom, iteration });
  const drifted = counts.find((one) => isBelow(one, Math.max(bounds.warnBelow, bounds.stopBelow)));
  if (!drifted) return;
  const isUntrained = isBelow(drifted, bounds.stopBelow);
  await store.campaigns.recordEvent(campaignId, {
    iteration,
    kind: 'near-misses',
    actor: 'coevolve',
    detail: { ...drifted, ...bounds, isUntrained },
    key: `near-misses/${iteration}`,
  });
}

/** Returns whether the failure agent is not trained in an iteration: `pairs.nearMisses.stopBelow`. */
export async function isStopped(
  { store }: Pick<Dependencies, 'store'>,
  { campaignId, iteration }: Pick<IterationKey, 'campaignId' | 'iteration'>,
  { pairs: { hardNegativeReward: hardFrom, nearMisses } }: Pick<CampaignSpec, 'pairs'>,
): Promise<boolean> {
  if (nearMisses.stopBelow === 0) return false;
  const counts = await store.failureCounts.list(campaignId, { hardFrom, iteration });
  return counts.some((one) => isBelow(one, nearMisses.stopBelow));
}
