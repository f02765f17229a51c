import type { IterationKey } from '../../store/campaign/iterations';
import { type Dependencies, getCampaign } from '../context/dependencies';
import { evaluationSets } from '../../specification/evaluation-settings';
import { summarize } from './summarize';

/**
 * Plans attempts of the active policy at the evaluation sets that are only reported, unless an earlier iteration has
 * scored it on them. The first policy and every promoted one are scored once, so the active policy always has a score.
 */
export const planTest =
  ({ store }: Dependencies) =>
  async (key: IterationKey): Promise<void> => {
    const { target } = await store.policies.listActive(key.campaignId);
    if (!target) return;
    const scored = await store.evaluations.listReported(key.campaignId);
    if (scored.some(({ policyId, iteration }) => policyId === target && iteration < key.iteration)) return;
    const heldOut = await store.tasks.list(key.campaignId, { verdict: 'admitted', split: 'held-out' });
    const reported = heldOut.filter(({ evaluationSet }) => evaluationSet !== 'dev');
    await store.tasks.plan(
      key,
      'test',
      reported.map(({ id }) => id),
    );
  };

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
      const scores = await store.evaluations.listReportedScores(key.campaignId, policyId, name);
      await store.evaluations.save(key, {
        policyId,
        evaluationSet: name,
        ...summarize(scores, spec.evaluation.confidence),
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
