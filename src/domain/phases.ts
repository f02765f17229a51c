/** The phases of an iteration, in order. A recipe leaves some out; none changes their order. */
export const phases = [
  'plan',
  'roll-out',
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
