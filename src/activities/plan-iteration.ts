import { createRandom } from '../domain/seeded-random';
import { deriveSeed } from '../domain/seed-tree';
import type { IterationKey } from '../store/iterations';
import { getCampaign, type Services } from './services';

/**
 * Writes down once which tasks an iteration plays. The start plays every seed task's reference actions; a later
 * iteration plays the pool, or a seeded draw from it. Every iteration is evaluated on all held-out tasks.
 */
export const planIteration =
  (services: Services) =>
  async (key: IterationKey): Promise<void> => {
    const { spec } = await getCampaign(services, key.campaignId);
    const pool = await services.store.tasks.list(key.campaignId, { verdict: 'admitted' });
    const idsOf = (split: string): string[] => pool.filter((task) => task.split === split).map(({ id }) => id);
    const limit = spec.rollouts.tasksPerIteration ?? pool.length;
    const random = createRandom(deriveSeed(spec.seed, key.iteration, 'plan'));

    await services.store.tasks.plan(
      key,
      key.iteration === 0 ? 'expert' : 'train',
      key.iteration === 0 ? idsOf('train') : random.shuffle(idsOf('train')).slice(0, limit),
    );
    await services.store.tasks.plan(key, 'evaluation', idsOf('held-out'));
  };
