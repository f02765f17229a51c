import { explorationSize } from '../../domain/tasks/exploration';
import type { SynthesisAim } from '../../domain/campaign/recipe';
import { createRandom } from '../../domain/base/seeded-random';
import { deriveSeed } from '../../domain/base/seed-tree';
import { enabledSignals } from '../../spec/iteration-plan';
import type { NewContext } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import { flaggedTasks } from './flagged-tasks';
import { getCampaign, type Dependencies } from '../base/dependencies';

/**
 * Stores the contexts of an aim once: flagged trajectories, one per task, or for `random` the environments of randomly
 * drawn seed tasks. Returns the number of contexts.
 */
export const planExploration =
  (deps: Dependencies) =>
  async ({ aim, ...key }: IterationKey & { aim: SynthesisAim }): Promise<{ contexts: number }> => {
    const { exploration } = deps.store;
    const { spec } = await getCampaign(deps, key.campaignId);
    const seed = deriveSeed(spec.seed, key.iteration, 'synthesize', aim);
    const signals = enabledSignals(spec);
    const { contexts } = explorationSize({ aim, iteration: key.iteration, signals }, spec.synthesis);
    const chosen =
      aim === 'random'
        ? await drawSeedTasks(deps, key.campaignId, seed, contexts)
        : (await flaggedTasks(deps, key, aim, seed)).map(({ signal }) => toContext(signal));
    await exploration.planContexts(key, aim, chosen.slice(0, contexts));
    await deps.store.iterations.recordWork(key, 'synthesize', aim);
    return { contexts: await exploration.countContexts(key, aim) };
  };

const toContext = (signal: { id: string; taskId: string; trajectoryId: string }): NewContext => ({
  taskId: signal.taskId,
  signalId: signal.id,
  trajectoryId: signal.trajectoryId,
});

/** Draws every seed task once before any task a second time. A repeated task is explored with another seed. */
async function drawSeedTasks(
  { store }: Dependencies,
  campaignId: number,
  seed: number,
  count: number,
): Promise<NewContext[]> {
  const seeds = (await store.tasks.list(campaignId, { split: 'train' })).filter(({ origin }) => origin === 'seed');
  const random = createRandom(seed);
  const rounds = seeds.length === 0 ? 0 : Math.ceil(count / seeds.length);
  return Array.from({ length: rounds }, () => random.shuffle(seeds))
    .flat()
    .map(({ id }) => ({ taskId: id, signalId: null, trajectoryId: null }));
}
