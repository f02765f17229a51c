import type { IterationKey } from '../store/iterations';
import type { Services } from './services';

/** Plans the validation of every candidate that the iteration synthesized. */
export const planValidation =
  ({ store }: Services) =>
  async (key: IterationKey): Promise<void> => {
    const made = await store.tasks.list(key.campaignId, { createdIteration: key.iteration, verdict: 'candidate' });
    await store.tasks.plan(
      key,
      'validation',
      made.map(({ id }) => id),
    );
  };
