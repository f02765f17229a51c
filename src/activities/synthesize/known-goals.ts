import { nearestGoals } from '../../domain/tasks/nearest-goals';
import type { ContextRow } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import type { Dependencies } from '../context/dependencies';

/** Goals in one prompt. */
const count = 12;

/** Returns the goals of the pool that are nearest to a context: to its task and to the objectives of its exploration. */
export async function knownGoals(
  { store }: Pick<Dependencies, 'store'>,
  key: IterationKey,
  { context, refill }: ContextRow,
  { goal }: Pick<TaskRow, 'goal'>,
): Promise<string[]> {
  const goals = await store.tasks.listGoals(key, refill);
  return nearestGoals(goals, [goal, ...(context?.explorationObjectives ?? [])].join('\n'), count);
}
