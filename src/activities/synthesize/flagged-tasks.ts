import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import { createRandom } from '../../domain/random/seeded-random';
import type { FeedbackSignalRow } from '../../store/trajectories/feedback-signals';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import type { Dependencies } from '../context/dependencies';

export type FlaggedTask = { task: TaskRow; signal: FeedbackSignalRow };

/**
 * Returns one entry per flagged task of the pool with its strongest signal, the strongest first. Equal strengths are in
 * an order by the seed, which does not depend on ids.
 */
export async function flaggedTasks(
  { store }: Dependencies,
  key: IterationKey,
  kind: FeedbackSignalKind,
  seed: number,
): Promise<FlaggedTask[]> {
  const signals = await store.feedbackSignals.list(key.campaignId, key.iteration);
  const tasks = await store.tasks.list(key.campaignId, { verdict: 'admitted', split: 'train' });
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const strongest = new Map<string, FlaggedTask>();
  for (const signal of signals.filter((found) => found.kind === kind)) {
    const task = byId.get(signal.taskId);
    const known = task && strongest.get(task.id);
    if (task && !(known && known.signal.strength >= signal.strength)) strongest.set(task.id, { task, signal });
  }
  return createRandom(seed)
    .shuffle([...strongest.values()])
    .sort((a, b) => b.signal.strength - a.signal.strength);
}
