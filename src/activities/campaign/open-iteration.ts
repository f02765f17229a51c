import type { IterationPlan } from '../../domain/campaign/iteration-plan';
import { planOf } from '../../specification/iteration-plan';
import { getCampaign, type Dependencies } from '../context/dependencies';

type Input = { campaignId: number; iteration: number; recipe: string; epoch?: number };

/**
 * Opens an iteration if it is not open yet, and returns its plan from recipe and spec.
 *
 * @throws DomainError `StateMismatch` when the database is older than the campaign, `StaleEpoch`
 */
export const openIteration =
  (deps: Dependencies) =>
  async ({ campaignId, iteration, epoch }: Input): Promise<IterationPlan> => {
    const { spec } = await getCampaign(deps, campaignId);
    return {
      epoch: await deps.store.iterations.openNext(campaignId, iteration, epoch ?? null),
      ...planOf(spec, iteration),
    };
  };
