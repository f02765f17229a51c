import { nearestExamples, nearestGoals, type ExampleTask } from '../../domain/tasks/nearest-goals';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { ContextRow } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import type { Dependencies } from '../context/dependencies';

/** Goals in one prompt. */
const count = 12;

export type KnownTasks = { knownGoals: string[]; examples: ExampleTask[] };

/**
 * Returns the goals of the pool that are nearest to a context, to its task and to the objectives of its exploration, and
 * the nearest tasks with their actions as examples. No held-out task is among them.
 */
export async function knownTasks(
  { store }: Pick<Dependencies, 'store'>,
  key: IterationKey,
  { synthesis }: CampaignSpec,
  { context, refill, goal }: Pick<ContextRow, 'context' | 'refill'> & Pick<TaskRow, 'goal'>,
): Promise<KnownTasks> {
  const tasks = await store.tasks.listKnown(key, refill);
  const text = [goal, ...(context?.explorationObjectives ?? [])].join('\n');
  return {
    knownGoals: nearestGoals(
      tasks.map((task) => task.goal),
      text,
      count,
    ),
    examples: nearestExamples(tasks, goal, synthesis.examples),
  };
}
