import type { SynthesisAim } from '../../domain/campaign/recipe';
import type { NewContext } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import { refillSizeOf } from './refill-size';
import { sourceTasks, type SourceTask } from './source-tasks';
import { getCampaign, type Dependencies } from '../context/dependencies';

/** `first`: index of the first context of a refill; absent without a refill. */
export type PlannedContexts = { contexts: number; first?: number };

/**
 * Stores the contexts of an aim once, or of one refill of it: trajectories of its source tasks, one per task, or for
 * `random` their environments. A refill continues with the next source tasks. Returns the number of contexts so far.
 */
export const planExploration =
  (deps: Dependencies) =>
  async ({
    aim,
    refill = 0,
    ...key
  }: IterationKey & { aim: SynthesisAim; refill?: number }): Promise<PlannedContexts> => {
    const { exploration } = deps.store;
    const { spec } = await getCampaign(deps, key.campaignId);
    const { contexts } = await refillSizeOf(deps, key, spec, { aim, refill });
    const sources = await sourceTasks(deps, key, spec, aim);
    const from = refill === 0 ? 0 : await exploration.countContexts(key, aim, refill - 1);
    const isRepeatable = aim === 'random' || refill > 0;
    const chosen = isRepeatable ? repeated(sources, from, contexts) : sources.slice(0, contexts);
    await exploration.planContexts(key, aim, chosen.map(toContext), { refill, from });
    if (refill === 0) await deps.store.iterations.recordWork(key, 'synthesize', aim);
    return { contexts: await exploration.countContexts(key, aim, refill), ...(refill > 0 && { first: from }) };
  };

const toContext = ({ task, signal, trajectoryId }: SourceTask): NewContext => ({
  taskId: task.id,
  signalId: signal?.id ?? null,
  trajectoryId,
});

/** Every source comes once before any comes again. A repeated task is explored with another seed. */
const repeated = (sources: readonly SourceTask[], from: number, count: number): SourceTask[] =>
  sources.length === 0 ? [] : Array.from({ length: count }, (_, n) => sources[(from + n) % sources.length]!);
