import { pairForFailureAgent } from '../../domain/pairs/pair-for-failure-agent';
import { pairForTarget } from '../../domain/pairs/pair-for-target';
import { recipes } from '../../domain/campaign/recipe';
import { deriveSeed } from '../../domain/base/seed-tree';
import { failurePairSettings, targetPairSettings } from '../../spec/resolve-pair-settings';
import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../base/dependencies';

/** Pairs the attempts of an iteration for every agent that trains on pairs. A pure function of stored rows. */
export const buildPreferencePairs =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { store } = deps;
    const { spec } = await getCampaign(deps, key.campaignId);
    const attempts = await store.trajectories.listScored(key.campaignId, key.iteration, key.iteration);
    const experts = await store.trajectories.listExperts(key.campaignId);

    for (const { role } of recipes[spec.recipe].training.filter(({ data }) => data.startsWith('pairs'))) {
      const seed = deriveSeed(spec.seed, key.iteration, 'pairs', role);
      const result =
        role === 'failure'
          ? pairForFailureAgent({ attempts, seed }, failurePairSettings(spec))
          : pairForTarget({ attempts, experts, seed }, targetPairSettings(spec, role));
      await store.preferencePairs.save(key, role, result);
    }
    await store.iterations.recordWork(key, 'pair', 'pairs');
  };
