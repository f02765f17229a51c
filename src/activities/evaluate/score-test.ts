import type { IterationKey } from '../../store/campaign/iterations';
import { evaluationSets } from '../../specification/evaluation-settings';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { summarize } from './summarize';

/** Stores the scores of the active policy on the evaluation sets that are only reported, if it played them now. */
export const scoreTest =
  (deps: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { store } = deps;
    if ((await store.tasks.countPlanned(key, 'test')) === 0) return;
    const { spec } = await getCampaign(deps, key.campaignId);
    const policyId = (await store.policies.listActive(key.campaignId)).target!;
    for (const { name } of evaluationSets(spec)) {
      if (name === 'dev') continue;
      const rewards = await store.evaluations.listReportedRewards(key.campaignId, policyId, name);
      await store.evaluations.save(key, {
        policyId,
        evaluationSet: name,
        ...summarize(rewards, spec.evaluation.confidence),
        incumbentId: null,
        wins: null,
        losses: null,
        mcnemarP: null,
        meanDifference: null,
        differenceLow: null,
        differenceHigh: null,
      });
    }
  };
