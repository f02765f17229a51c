import type { PoolCount, RecordedCell } from './record';

/** Share of some categories of a feature among the parents of the candidates, or among the admitted tasks. */
export type PoolShare = { step: 'parents' | 'admitted'; feature: string; categories: readonly string[] };

/** Reads `parents@<feature>=<value>|<value>` or `admitted@...`; undefined for another text. */
export function poolShareOf(metric: string): PoolShare | undefined {
  const [, step, feature, values] = /^(parents|admitted)@([\w-]+)=([^=]+)$/.exec(metric) ?? [];
  if (!step || !feature || !values) return undefined;
  return { step: step as PoolShare['step'], feature, categories: values.split('|') };
}

/**
 * Returns the share in [0, 1] over all iterations of a cell; the tasks of the start do not count. Null without tasks of the
 * step, or where the cell did not count them by the feature.
 */
export function shareIn(
  { manifest }: Pick<RecordedCell, 'manifest'>,
  { step, feature, categories }: PoolShare,
): number | null {
  const counts = (step === 'parents' ? manifest?.parents : manifest?.pool) ?? [];
  const made = counts.filter((row) => row.iteration > 0 && row.feature === feature);
  const all = tasksOf(made);
  return all === 0 ? null : tasksOf(made.filter(({ category }) => categories.includes(category))) / all;
}

const tasksOf = (rows: readonly PoolCount[]): number => rows.reduce((sum, { tasks }) => sum + tasks, 0);
