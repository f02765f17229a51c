import { isPlayedByModel } from '../../specification/evaluation-spec';
import { getCampaign, type Dependencies } from '../context/dependencies';

/** Unloads the campaign's inactive policies from the policy server. A later request loads a policy again. */
export const unloadPolicies =
  (deps: Dependencies) =>
  async ({ campaignId }: { campaignId: number }): Promise<void> => {
    const { store, policies } = deps;
    if (isPlayedByModel((await getCampaign(deps, campaignId)).spec)) return; // no policy server serves it
    const active = new Set(Object.values(await store.policies.listActive(campaignId)));
    const known = new Set((await store.policies.list(campaignId)).map(({ id }) => id));
    const served = await policies.served();
    for (const id of served.filter((name) => known.has(name) && !active.has(name))) await policies.unload(id);
  };
