import { weightedOrder, mix } from '../../domain/tasks/selection/draw-tasks';
import { retire } from '../../domain/tasks/selection/retire';
import { weightsOf, type TaskStanding } from '../../domain/tasks/selection/strategy';
import type { Random } from '../../domain/base/seeded-random';
import type { CampaignSpec } from '../../spec/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import type { Dependencies } from '../base/dependencies';

export type Standing = TaskStanding & { isSynthesized: boolean };

/** What the iterations before this one say of each task that has not retired; those that now do are written down. */
export async function standingsOf(
  { store }: Dependencies,
  key: IterationKey,
  { pool: settings }: CampaignSpec,
  tasks: readonly TaskRow[],
): Promise<Standing[]> {
  const since = Math.max(0, key.iteration - settings.window);
  const stats = await store.tasks.listStats(key.campaignId, since, key.iteration);
  const standings = tasks.map((task) => ({
    taskId: task.id,
    ...(stats.get(task.id) ?? { meanReward: null, attempts: 0, iterations: 0 }),
    cluster: String(task.features['pattern'] ?? task.features['group'] ?? task.environment),
    isSynthesized: task.origin !== 'seed',
  }));
  if (settings.retirement) await store.admission.retire(key, retire(standings, settings.retirement));
  const retired = await store.admission.listRetired(key.campaignId, key.iteration);
  return standings.filter(({ taskId }) => !retired.has(taskId));
}

/**
 * Ids of at most `limit` tasks (null: all), in the order of their draw.
 *
 * The share of synthesized tasks is held only where there are seed tasks too: a pool of synthesized ones alone has none
 * to fill up with.
 */
export function drawTasks(
  tasks: readonly Standing[],
  limit: number | null,
  { pool }: CampaignSpec,
  random: Random,
): string[] {
  const size = limit ?? tasks.length;
  const ordered =
    pool.strategy === 'uniform' ? random.shuffle(tasks) : weightedOrder(tasks, weightsOf(tasks, pool), random);
  const share = tasks.some(({ isSynthesized }) => !isSynthesized) ? pool.synthesizedShare : null;
  const drawn = share === null ? ordered.slice(0, size) : mix(ordered, size, share);
  return drawn.map(({ taskId }) => taskId);
}
