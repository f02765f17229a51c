import type { Dependencies } from '../base/dependencies';

/** Frees the policy server of this campaign's policies that act no longer; one that is asked for again is loaded again. */
export const unloadPolicies =
  ({ store, policies }: Dependencies) =>
  async ({ campaignId }: { campaignId: number }): Promise<void> => {
    const acting = new Set(Object.values(await store.policies.listActive(campaignId)));
    const own = new Set((await store.policies.list(campaignId)).map(({ id }) => id));
    const served = await policies.served();
    for (const id of served.filter((name) => own.has(name) && !acting.has(name))) await policies.unload(id);
  };
