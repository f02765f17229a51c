import { groupBy } from '../../base/group-by';

/** What a strategy knows of a task. */
export type TaskStanding = {
  taskId: string;
  /** Mean reward of its lately scored attempts, in [0, 1]; null: it was not played lately. */
  meanReward: number | null;
  attempts: number;
  /** Kind of task, by which `agent0` counts how many there are alike. */
  cluster: string;
};

export type SelectionSettings = {
  strategy: StrategyName;
  /** Mean rewards outside of it weigh 0; null: the strategy's own band, if it has one. */
  band: { low: number; high: number } | null;
  /** Of `genenv`, >= 0. */
  sharpness: number;
  /** Of `agent0`, >= 0. */
  clusterPenalty: number;
};

/**
 * How much a task is worth drawing, >= 0, of each of `tasks` in their order. A task that was not played lately weighs as
 * one at mean reward 0.5, where each formula is largest, and no band leaves it out: otherwise nothing new would ever be
 * tried.
 */
export function weightsOf(tasks: readonly TaskStanding[], settings: SelectionSettings): number[] {
  return strategies[settings.strategy](tasks, settings);
}

type Strategy = (tasks: readonly TaskStanding[], settings: SelectionSettings) => number[];

/** Every task alike: the paper's own (arXiv:2604.15840 states no weights). */
const uniform: Strategy = (tasks) => tasks.map(() => 1);

/** phi = 4 r (1 - r) where 0.20 <= r <= 0.85 (RODS, arXiv:2606.19047). */
const rods: Strategy = (tasks, { band }) =>
  tasks.map(({ meanReward }) => {
    const r = meanReward ?? 0.5;
    return isWithin(meanReward, band ?? { low: 0.2, high: 0.85 }) ? 4 * r * (1 - r) : 0;
  });

/** exp(-beta (r - 0.5)^2), beta the sharpness; no band of its own (GenEnv, arXiv:2512.19682). */
const genenv: Strategy = (tasks, { band, sharpness }) =>
  tasks.map(({ meanReward }) => {
    const r = meanReward ?? 0.5;
    return isWithin(meanReward, band ?? { low: 0, high: 1 }) ? Math.exp(-sharpness * (r - 0.5) ** 2) : 0;
  });

/**
 * max(0, min(r, 1 - r) - penalty |C| / |B|) where 0.3 <= r <= 0.8: the share of a task's own cluster C among all tasks B
 * is what keeps the draw from being all of one kind (Agent0, arXiv:2511.16043, whose clusters are by BLEU; here they are
 * the environment's own kinds, and its bonus for tool calls is left out).
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
