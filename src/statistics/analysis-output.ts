import { z } from 'zod';
import { effortMeasures } from '../domain/experiment/experiment';
import { contrastStatistics } from './contrast-columns';

/**
 * `better` and `worse` mean that the corrected test finds a difference, and `equivalent` that the difference lies within the
 * margin (TOST). `inconclusive` means that neither is shown, and `invalid` that a broken rule makes the arms incomparable.
 */
const verdicts = ['better', 'worse', 'equivalent', 'inconclusive', 'invalid'] as const;

/** A number that does not exist, such as a deviation of one seed, is null. */
const number = z.number().nullable();
const interval = { low: number, high: number };
const bySeed = z.array(z.strictObject({ seed: z.int(), value: z.number() })).readonly();

const arm = z.strictObject({
  arm: z.string(),
  seeds: z.int(),
  tasks: z.int(),
  values: bySeed,
  mean: number,
  sd: number,
  min: number,
  max: number,
  iqm: number,
  ...interval,
  /** Seeds that end below half of their first checkpoint, by more than the margin. */
  collapsed: z.array(z.int()).readonly(),
});

/** A contrast after its tests. Its statistics are null where the verdict is `invalid` or the deviation does not allow them. */
const contrast = z.strictObject({
  contrast: z.string(),
  plus: z.string(),
  minus: z.string(),
  kind: z.enum(['primary', 'secondary']),
  /** Differences by seed, in the order of the seeds. */
  differences: bySeed,
  seeds: z.int(),
  ...contrastStatistics,
  verdict: z.enum(verdicts),
  /** Verdict of the trimmed mean, where the file declared one and there are five seeds. */
  companion: z.enum(['better', 'worse', 'inconclusive']).nullable(),
  /** Sentences that give the reasons why the contrast is invalid or inconclusive. */
  reasons: z.array(z.string()).readonly(),
});

/** A rule of effort for a contrast. `found` is the largest difference over the seeds. */
const effort = z.strictObject({
  contrast: z.string(),
  measure: z.enum(effortMeasures),
  rule: z.enum(['equal', 'within']),
  allowed: z.number(),
  found: z.number(),
  holds: z.boolean(),
});

/** The rules that make arms comparable. A broken one makes its contrasts `invalid`. */
export const rules = [
  'matched',
  'complete',
  'test set unseen',
  'equal tests',
  'whole tests',
  'distinct cells',
  'declared look',
] as const;

/** A broken rule; null: of a cell that no contrast compares. */
const broken = z.strictObject({ rule: z.enum(rules), contrast: z.string().nullable(), finding: z.string() });

/** An arm that repeats another one, against it. `differs`: p is below the level of a test. */
const replica = z.strictObject({
  arm: z.string(),
  of: z.string(),
  difference: z.number(),
  p: z.number(),
  differs: z.boolean(),
});

/** Two cells with equal scores of every task at their last checkpoint. */
const alike = z.strictObject({
  arm: z.string(),
  seed: z.int(),
  otherArm: z.string(),
  otherSeed: z.int(),
  tasks: z.int(),
});

const ordering = z.strictObject({
  arms: z.array(z.string()).readonly(),
  adjacent: z.array(z.strictObject({ contrast: z.string(), p: number })).readonly(),
  /** Every adjacent contrast is significant in the expected direction. */
  chain: z.boolean(),
  page: z.strictObject({ statistic: z.number(), p: z.number() }).nullable(),
});

/** The difference of a contrast within a category; it describes and tests nothing. */
const category = z.strictObject({
  contrast: z.string(),
  feature: z.string(),
  value: z.string(),
  tasks: z.int(),
  difference: number,
  ...interval,
});

/** The mean over the seeds at a checkpoint, with a pointwise interval. */
const curvePoint = z.strictObject({ arm: z.string(), checkpoint: z.int(), mean: z.number(), ...interval });

/** Tasks that one arm of a contrast alone solved at a seed. */
const wonAndLost = z.strictObject({
  contrast: z.string(),
  seed: z.int(),
  won: z.int(),
  lost: z.int(),
  p: z.number(),
});

/** The output of `python -m coevolve_statistics`: equal inputs give equal bytes. */
export const analysisOutput = z.strictObject({
  version: z.int(),
  look: z.int(),
  arms: z.array(arm).readonly(),
  contrasts: z.array(contrast).readonly(),
  /** Level of a test at this look. */
  level: z.number(),
  broken: z.array(broken).readonly(),
  replicas: z.array(replica).readonly(),
  alike: z.array(alike).readonly(),
  effort: z.array(effort).readonly(),
  ordering: ordering.nullable(),
  breakdown: z.array(category).readonly(),
  curves: z.array(curvePoint).readonly(),
  /** Power of the primary contrast at its observed deviation. */
  power: z.array(z.strictObject({ difference: z.number(), seeds: z.int(), power: z.number() })).readonly(),
  /** Conditional power of the primary contrast at the first of two looks, and null elsewhere. */
  conditionalPower: number,
  wonAndLost: z.array(wonAndLost).readonly(),
});

export type AnalysisOutput = z.infer<typeof analysisOutput>;
export type ContrastResult = z.infer<typeof contrast>;
export type Verdict = ContrastResult['verdict'];
