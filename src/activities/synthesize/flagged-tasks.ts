import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import { createRandom } from '../../domain/base/seeded-random';
import type { FeedbackSignalRow } from '../../store/trajectories/feedback-signals';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import type { Dependencies } from '../base/dependencies';

export type FlaggedTask = { task: TaskRow; signal: FeedbackSignalRow };

/** Returns one entry per flagged task of the pool, shuffled by the seed so that the order does not depend on ids. */
export async function flaggedTasks(
  { store }: Dependencies,
  key: IterationKey,
  kind: FeedbackSignalKind,
  seed: number,
): Promise<FlaggedTask[]> {
  const signals = await store.feedbackSignals.list(key.campaignId, key.iteration);
  const tasks = await store.tasks.list(key.campaignId, { verdict: 'admitted', split: 'train' });
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const first = new Map<string, FlaggedTask>();
  for (const signal of signals.filter((found) => found.kind === kind)) {
    const task = byId.get(signal.taskId);
    if (task && !first.has(task.id)) first.set(task.id, { task, signal });
  }
  return createRandom(seed).shuffle([...first.values()]);
}
