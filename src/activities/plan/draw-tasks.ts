import { weightedOrder, mix } from '../../domain/tasks/selection/draw-tasks';
import { retire } from '../../domain/tasks/selection/retire';
import { weightsOf, type TaskStanding } from '../../domain/tasks/selection/strategy';
import type { Random } from '../../domain/random/seeded-random';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { TaskRow } from '../../store/tasks/tasks';
import type { Dependencies } from '../context/dependencies';

export type Standing = TaskStanding & { isSynthesized: boolean };

/** Returns the results of recent iterations for each task that has not retired. Records new retirements. */
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
 * Returns the ids of at most `limit` tasks, or of all if it is null, in the order of the draw.
 *
 * The limit on the share of synthesized tasks applies only if the pool has seed tasks to fill the rest.
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
