import type { IterationPlan } from '../domain/iteration-plan';
import { planOf } from '../spec/iteration-plan';
import { getCampaign, type Services } from './services';

type Input = { campaignId: number; iteration: number; recipe: string };

/** Opens an iteration, or finds it open, and says what its recipe and spec ask for. */
export const openIteration =
  (services: Services) =>
  async ({ campaignId, iteration }: Input): Promise<IterationPlan> => {
    const { spec } = await getCampaign(services, campaignId);
    return { epoch: await services.store.iterations.open(campaignId, iteration), ...planOf(spec, iteration) };
  };
