import { nearestTasks, type KnownTasks } from '../../domain/tasks/nearest-goals';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { ContextRow } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import type { Dependencies } from '../context/dependencies';

/** Returns the tasks of the pool that are nearest to a context. No held-out task is among them. */
export async function knownTasks(
  { store }: Pick<Dependencies, 'store'>,
  key: IterationKey,
  { synthesis }: CampaignSpec,
  { context, refill, goal }: Pick<ContextRow, 'context' | 'refill'> & Pick<TaskRow, 'goal'>,
): Promise<KnownTasks> {
  const tasks = await store.tasks.listKnown(key, refill);
  return nearestTasks(tasks, { goal, objectives: context?.explorationObjectives ?? [], count: synthesis.examples });
}
