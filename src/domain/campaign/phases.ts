/** Phases of an iteration, in order. A recipe may leave out some of them, but never changes the order. */
export const phases = [
  'plan',
  'rollout',
  'optimize',
  'detect',
  'synthesize',
  'validate',
  'pair',
  'train',
  'evaluate',
  'report',
] as const;

export type Phase = (typeof phases)[number];

/** The start has to produce the first active policies and their evaluation. */
const requiredAtStart: readonly Phase[] = ['train', 'evaluate'];

/**
 * True if an iteration can continue without this phase: later phases find no results of it, and the active policies stay.
 * Without a plan or attempts an iteration cannot continue.
 */
export function isSkippable(phase: Phase, iteration: number): boolean {
  if (phase === 'plan' || phase === 'rollout') return false;
  return iteration > 0 || !requiredAtStart.includes(phase);
}
