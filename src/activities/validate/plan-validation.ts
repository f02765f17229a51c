import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../context/dependencies';

/** Plans the validation of every new candidate of the iteration, of none if validation is off. This ends the synthesis. */
export const planValidation =
  (deps: Dependencies) =>
  async ({ refill = 0, ...key }: IterationKey & { refill?: number }): Promise<void> => {
    const { spec } = await getCampaign(deps, key.campaignId);
    const { tasks, iterations } = deps.store;
    if (spec.synthesis.validation !== 'off') {
      const made = await tasks.list(key.campaignId, { createdIteration: key.iteration, verdict: 'candidate' });
      const ids = made.filter((task) => task.refill === refill).map(({ id }) => id);
      await tasks.extendPlan(key, 'validation', ids);
    }
    if (refill === 0) await iterations.recordWork(key, 'synthesize', 'validation plan');
  };
