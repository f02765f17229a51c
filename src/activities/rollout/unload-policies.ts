import type { Dependencies } from '../context/dependencies';

/** Unloads the campaign's inactive policies from the policy server. A later request loads a policy again. */
export const unloadPolicies =
  ({ store, policies }: Dependencies) =>
  async ({ campaignId }: { campaignId: number }): Promise<void> => {
    const active = new Set(Object.values(await store.policies.listActive(campaignId)));
    const known = new Set((await store.policies.list(campaignId)).map(({ id }) => id));
    const served = await policies.served();
    for (const id of served.filter((name) => known.has(name) && !active.has(name))) await policies.unload(id);
  };
