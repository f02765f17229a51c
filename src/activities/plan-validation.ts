import type { IterationKey } from '../store/iterations';
import { getCampaign, type Services } from './services';

/** Plans the validation of every candidate that the iteration synthesized; of none where validation is off. */
export const planValidation =
  (services: Services) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(services, key.campaignId);
    if (spec.synthesis.validation === 'off') return;
    const { tasks } = services.store;
    const made = await tasks.list(key.campaignId, { createdIteration: key.iteration, verdict: 'candidate' });
    await tasks.plan(
      key,
      'validation',
      made.map(({ id }) => id),
    );
  };
