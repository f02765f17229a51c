import { groupBy } from '../../group-by';

/** Input of a strategy for one task. */
export type TaskStanding = {
  taskId: string;
  /** Mean reward of its recent scored attempts, in [0, 1]. Is null if it was not played recently. */
  meanReward: number | null;
  attempts: number;
  /** Kind of task; `agent0` counts the tasks per kind. */
  cluster: string;
};

export type SelectionSettings = {
  strategy: StrategyName;
  /** Tasks with a mean reward outside the band get weight 0; null means the strategy's default band, if it has one. */
  band: { low: number; high: number } | null;
  /** Parameter of `genenv`, >= 0. */
  sharpness: number;
  /** Parameter of `agent0`, >= 0. */
  clusterPenalty: number;
};

/**
 * Returns the weight of each task in a draw, >= 0, in the order of `tasks`. A task that was not played recently gets the
 * weight of mean reward 0.5, the maximum of each formula, and is in every band; otherwise new tasks would never be drawn.
 */
export function weightsOf(tasks: readonly TaskStanding[], settings: SelectionSettings): number[] {
  return strategies[settings.strategy](tasks, settings);
}

type Strategy = (tasks: readonly TaskStanding[], settings: SelectionSettings) => number[];

/** Equal weights, as in the paper (arXiv:2604.15840 states no weights). */
const uniform: Strategy = (tasks) => tasks.map(() => 1);

/** phi = 4 r (1 - r) for 0.20 <= r <= 0.85 (RODS, arXiv:2606.19047). */
const rods: Strategy = (tasks, { band }) =>
  tasks.map(({ meanReward }) => {
    const r = meanReward ?? 0.5;
    return isWithin(meanReward, band ?? { low: 0.2, high: 0.85 }) ? 4 * r * (1 - r) : 0;
  });

/** exp(-beta (r - 0.5)^2) with beta = sharpness; no default band (GenEnv, arXiv:2512.19682). */
const genenv: Strategy = (tasks, { band, sharpness }) =>
  tasks.map(({ meanReward }) => {
    const r = meanReward ?? 0.5;
    return isWithin(meanReward, band ?? { low: 0, high: 1 }) ? Math.exp(-sharpness * (r - 0.5) ** 2) : 0;
  });

/**
 * max(0, min(r, 1 - r) - penalty |C| / |B|) for 0.3 <= r <= 0.8. The share of the task's cluster C among all tasks B
 * prevents draws of a single kind (Agent0, arXiv:2511.16043). Agent0 clusters by BLEU; here a cluster is a task kind of
 * the environment, and the bonus for tool calls is left out.
 */
const agent0: Strategy = (tasks, { band, clusterPenalty }) => {
  const clusters = groupBy(tasks, ({ cluster }) => cluster);
  return tasks.map(({ meanReward, cluster }) => {
    const r = meanReward ?? 0.5;
    const share = clusters.get(cluster)!.length / tasks.length;
    const weight = Math.max(0, Math.min(r, 1 - r) - clusterPenalty * share);
    return isWithin(meanReward, band ?? { low: 0.3, high: 0.8 }) ? weight : 0;
  });
};

const strategies = { uniform, rods, genenv, agent0 } satisfies Record<string, Strategy>;

export type StrategyName = keyof typeof strategies;

const isWithin = (meanReward: number | null, { low, high }: { low: number; high: number }): boolean =>
  meanReward === null || (meanReward >= low && meanReward <= high);
