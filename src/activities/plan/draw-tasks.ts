import { weightedOrder, mix } from '../../domain/tasks/selection/draw-tasks';
import { retire } from '../../domain/tasks/selection/retire';
import { weightsOf, type TaskStanding } from '../../domain/tasks/selection/strategy';
import type { Random } from '../../domain/random/seeded-random';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { Dependencies } from '../context/dependencies';

/** A draw of at most `limit` tasks, or of all if it is null. */
export type Draw = { limit: number | null; random: Random };

export type DrawableTasks = {
  size: number;
  /** Returns the ids of each draw in its order. */
  draw(draws: readonly Draw[]): Promise<string[][]>;
};

/**
 * Returns the tasks that an iteration can draw. Records new retirements. A uniform draw without retirement and without
 * limits on origins chooses positions, so that it reads the chosen ids alone.
 */
export async function drawableTasks(deps: Dependencies, key: IterationKey, spec: CampaignSpec): Promise<DrawableTasks> {
  const { strategy, retirement, synthesizedShare } = spec.pool;
  if (strategy === 'uniform' && retirement === null && synthesizedShare === null)
    return positionedTasks(deps, key, spec);
  const standings = await standingsOf(deps, key, spec);
  return {
    size: standings.length,
    draw: (draws) => Promise.resolve(draws.map(({ limit, random }) => drawTasks(standings, limit, spec, random))),
  };
}

/** The first k positions of a shuffle are a sample of k: a draw chooses the tasks of the shuffled pool. */
async function positionedTasks({ store }: Dependencies, key: IterationKey, spec: CampaignSpec): Promise<DrawableTasks> {
  const pool = { ...key, withSeeds: drawsSeeds(spec) };
  const size = await store.pools.countDrawable(pool);
  return {
    size,
    async draw(draws) {
      const all = Array.from({ length: size }, (_, position) => position);
      const drawn = draws.map(({ limit, random }) => random.sample(all, limit ?? size));
      const ids = await store.pools.listDrawableAt(pool, [...new Set(drawn.flat())]);
      return drawn.map((positions) => positions.map((position) => ids.get(position)!));
    },
  };
}

/** Only synthesized tasks are drawn if the first pool is synthesized. */
export const drawsSeeds = ({ synthesis }: CampaignSpec): boolean => synthesis.initialTasks === null;

type Standing = TaskStanding & { isSynthesized: boolean };

/** Returns the results of recent iterations for each task that has not retired. Records new retirements. */
async function standingsOf({ store }: Dependencies, key: IterationKey, spec: CampaignSpec): Promise<Standing[]> {
  const { retirement, window } = spec.pool;
  const since = Math.max(0, key.iteration - window);
  const stats = await store.tasks.listStats(key.campaignId, since, key.iteration);
  const tasks = await store.pools.listDrawable({ ...key, withSeeds: drawsSeeds(spec) });
  const standings = tasks.map((task) => ({
    ...task,
    ...(stats.get(task.taskId) ?? { meanReward: null, attempts: 0, iterations: 0 }),
  }));
  if (retirement) await store.admission.retire(key, retire(standings, retirement));
  const retired = await store.admission.listRetired(key.campaignId, key.iteration);
  return standings.filter(({ taskId }) => !retired.has(taskId));
}

/**
 * Returns the ids of at most `limit` tasks, or of all if it is null, in the order of the draw.
 *
 * The limit on the share of synthesized tasks applies only if the pool has seed tasks to fill the rest.
 */
function drawTasks(tasks: readonly Standing[], limit: number | null, { pool }: CampaignSpec, random: Random): string[] {
  const size = limit ?? tasks.length;
  const ordered =
    pool.strategy === 'uniform' ? random.shuffle(tasks) : weightedOrder(tasks, weightsOf(tasks, pool), random);
  const share = tasks.some(({ isSynthesized }) => !isSynthesized) ? pool.synthesizedShare : null;
  const drawn = share === null ? ordered.slice(0, size) : mix(ordered, size, share);
  return drawn.map(({ taskId }) => taskId);
}
