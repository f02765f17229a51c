import { pairForFailureAgent, pairForTarget } from '../../domain/pairs/pair-rules';
import { recipes } from '../../domain/campaign/recipe';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import { failurePairSettings, targetPairSettings } from '../../specification/pair-settings';
import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../context/dependencies';

/** Builds the preference pairs of an iteration for every agent that trains on pairs, as a pure function of stored rows. */
export const buildPreferencePairs =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { store } = deps;
    const { spec } = await getCampaign(deps, key.campaignId);
    const attempts = await store.trajectories.listScored(key.campaignId, key.iteration, key.iteration);
    const experts = await store.trajectories.listExperts(key.campaignId);

    for (const { role } of recipes[spec.recipe].training.filter(({ data }) => data.startsWith('pairs'))) {
      const seed = iterationSeed(spec, key.iteration, 'pairs', role);
      const result =
        role === 'failure'
          ? pairForFailureAgent({ attempts, seed }, failurePairSettings(spec.pairs))
          : pairForTarget({ attempts, experts, seed }, targetPairSettings(spec.pairs, spec.recipe, role));
      await store.preferencePairs.save(key, role, result);
    }
    await store.iterations.recordWork(key, 'pair', 'pairs');
  };
