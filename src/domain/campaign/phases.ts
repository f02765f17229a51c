/** The phases of an iteration, in order. A recipe leaves some out; none changes their order. */
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

/** What the start must leave behind: policies that act, and how good they are. */
const neededOfTheStart: readonly Phase[] = ['train', 'evaluate'];

/**
 * Whether an iteration can go on without a phase that an operator gives up: what would have used its results finds none,
 * and the policies that act stay. Without a plan or attempts there is nothing to go on with.
 */
export function isSkippable(phase: Phase, iteration: number): boolean {
  if (phase === 'plan' || phase === 'rollout') return false;
  return iteration > 0 || !neededOfTheStart.includes(phase);
}
