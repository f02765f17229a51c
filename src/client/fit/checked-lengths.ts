import type { MeasuredLengths } from '../../specification/estimate-training';
import { resolveSpec } from '../../specification/read-spec';
import { roomyAction, roomyLength } from '../../domain/training/row-lengths';
import { measureLengths } from './measure-lengths';

export type CheckedLengths = Omit<MeasuredLengths, 'rows' | 'spread' | 'mean' | 'turnLimits'> & {
  /** Lowest values that fit all of them, by key of a spec; empty if the tokens are reckoned from characters. */
  fitting: Record<string, number>;
};

/**
 * Returns the lengths of an environment's reference trajectories in tokens of a policy from scratch, as `start` measures them;
 * null without reference actions, or if it takes longer than 20 s.
 */
export async function checkedLengths(
  config: Parameters<typeof measureLengths>[0],
  name: string,
  options: Record<string, unknown>,
): Promise<CheckedLengths | null> {
  const spec = resolveSpec({ name: 'lengths', seed: 1, recipe: 'sft', environment: { name, options } }, 'options');
  const lengths = await measureLengths(config, spec);
  if (!lengths) return null;
  const { rows, spread: _spread, mean: _mean, turnLimits: _limits, ...found } = lengths;
  return { ...found, fitting: rows ? fittingValues(roomyLength(rows), roomyAction(rows)) : {} };
}

const fittingValues = (row: number, action: number): Record<string, number> => ({
  'training.init.maxPositions': row,
  'training.<method>.maxLength': row,
  'rollouts.maxTokens': action,
});
