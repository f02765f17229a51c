import type { SynthesisAim } from '../../domain/campaign/recipe';
import type { NewContext } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import { sizeOf, sourceTasks, type SourceTask } from './source-tasks';
import { getCampaign, type Dependencies } from '../base/dependencies';

/**
 * Stores the contexts of an aim once: trajectories of its source tasks, one per task, or for `random` their environments.
 * Returns the number of contexts.
 */
export const planExploration =
  (deps: Dependencies) =>
  async ({ aim, ...key }: IterationKey & { aim: SynthesisAim }): Promise<{ contexts: number }> => {
    const { exploration } = deps.store;
    const { spec } = await getCampaign(deps, key.campaignId);
    const { contexts } = await sizeOf(deps, key, spec, aim);
    const sources = await sourceTasks(deps, key, spec, aim);
    const chosen = aim === 'random' ? repeated(sources, contexts) : sources.slice(0, contexts);
    await exploration.planContexts(key, aim, chosen.map(toContext));
    await deps.store.iterations.recordWork(key, 'synthesize', aim);
    return { contexts: await exploration.countContexts(key, aim) };
  };

const toContext = ({ task, signal, trajectoryId }: SourceTask): NewContext => ({
  taskId: task.id,
  signalId: signal?.id ?? null,
  trajectoryId,
});

/** Every source comes once before any comes again. A repeated task is explored with another seed. */
const repeated = (sources: readonly SourceTask[], count: number): SourceTask[] =>
  sources.length === 0 ? [] : Array.from({ length: count }, (_, n) => sources[n % sources.length]!);
