import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';

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
