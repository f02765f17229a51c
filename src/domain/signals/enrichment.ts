import { mean } from '../evaluation/statistics';
import { groupBy } from '../group-by';

/** A task of the region that its cluster names; `source`: the flagged task from which it came, or the task itself. */
export type RegionTask = { cluster: string; source: string };

/** A task that was played when the signals were detected. */
export type PlayedTask = { id: string; cluster: string; isFlagged: boolean };

/** The steps from a signal to the pool: tasks whose variants are made, the variants, and those that are admitted. */
export type EnrichmentStep = 'parents' | 'candidates' | 'admitted';

/**
 * How much more of the region that a signal marks is in each step than in the played tasks, from which a blind draw takes.
 * Null without tasks in the step, and without flags.
 */
export type Enrichment = Record<EnrichmentStep, { tasks: number; ratio: number | null }>;

/**
 * Returns the enrichment of each step from a signal to the pool. The region is no set: a cluster belongs to it by the
 * share of its played tasks that the signal flags. The ratio is the mean share of the clusters of the step's tasks, over
 * that of all played ones. A task's own flag does not count for its cluster: with flags, or a relation, that mark nothing,
 * the ratio is 1; below 1 the step leads away from the flagged region.
 */
export function enrichmentOf(
  played: readonly PlayedTask[],
  { parents, candidates, admitted }: Record<EnrichmentStep, readonly RegionTask[]>,
): Enrichment {
  const flaggedShare = shareByCluster(played);
  const blind = meanOf(played.flatMap(({ id, cluster }) => flaggedShare({ cluster, source: id })));
  const enrichment = (tasks: readonly RegionTask[]) => {
    const share = meanOf(tasks.flatMap(flaggedShare));
    return { tasks: tasks.length, ratio: share === null || !blind ? null : share / blind };
  };
  return { parents: enrichment(parents), candidates: enrichment(candidates), admitted: enrichment(admitted) };
}

/** Returns a function to the share of flagged tasks in a task's cluster without its source; none without other tasks. */
function shareByCluster(played: readonly PlayedTask[]): (task: RegionTask) => number[] {
  const byId = new Map(played.map((task) => [task.id, task]));
  const clusters = new Map(
    [...groupBy(played, ({ cluster }) => cluster)].map(([cluster, tasks]) => [
      cluster,
      { tasks: tasks.length, flagged: tasks.filter(({ isFlagged }) => isFlagged).length },
    ]),
  );
  return ({ cluster, source }) => {
    const found = clusters.get(cluster);
    if (!found) return [0]; // nothing in it was played, so nothing was flagged
    const own = byId.get(source);
    const isOwn = own?.cluster === cluster;
    const others = found.tasks - Number(isOwn);
    return others === 0 ? [] : [(found.flagged - Number(isOwn && own.isFlagged)) / others];
  };
}

const meanOf = (values: readonly number[]): number | null => (values.length === 0 ? null : mean(values));
