import { failureOf } from '../base/activity-failure';
import type { Services } from '../base/dependencies';

/** Frees the policy server of this campaign's policies that act no longer; one that is asked for again is loaded again. */
export const retirePolicies =
  ({ store, policies }: Services) =>
  async ({ campaignId }: { campaignId: number }): Promise<void> => {
    const acting = new Set(Object.values(await store.policies.heads(campaignId)));
    const own = new Set((await store.policies.list(campaignId)).map(({ id }) => id));
    const served = await policies.served().catch(failureOf);
    for (const id of served.filter((name) => own.has(name) && !acting.has(name)))
      await policies.unload(id).catch(failureOf);
  };
