import { deriveSeed } from '../random/seed-tree';

/**
 * Returns the seed at a path below an iteration. Seeds of the supervised start are the same for all replicas of a
 * campaign, as are its tasks and the seeds of evaluations; every later seed differs.
 */
export function iterationSeed(
  { seed, replica }: { seed: number; replica: number },
  iteration: number,
  ...path: readonly (string | number)[]
): number {
  const parent = iteration === 0 || replica === 0 ? seed : deriveSeed(seed, 'replica', replica);
  return deriveSeed(parent, iteration, ...path);
}
