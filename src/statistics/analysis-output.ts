import { z } from 'zod';
import { verdicts, type AnalysisOutput } from '../domain/experiment/analysis';
import { effortMeasures } from '../domain/experiment/experiment';

/** A number that does not exist, such as a deviation of one seed, is null. */
const number = z.number().nullable();
const interval = { low: number, high: number };
const bySeed = z.array(z.object({ seed: z.number().int(), value: z.number() }));

const arm = z.object({
  arm: z.string(),
  seeds: z.number().int(),
  tasks: z.number().int(),
  values: bySeed,
  mean: number,
  sd: number,
  min: number,
  max: number,
  iqm: number,
  ...interval,
});

const contrast = z.object({
  contrast: z.string(),
  plus: z.string(),
  minus: z.string(),
  kind: z.enum(['primary', 'secondary']),
  differences: bySeed,
  difference: number,
  sd: number,
  seeds: z.number().int(),
  ...interval,
  low90: number,
  high90: number,
  p: number,
  adjustedP: number,
  signFlipP: number,
  equivalenceP: number,
  effectSize: number,
  probability: number,
  probabilityLow: number,
  probabilityHigh: number,
  detectable: number,
  seedsNeeded: number,
  verdict: z.enum(verdicts),
  reasons: z.array(z.string()),
});

const effort = z.object({
  contrast: z.string(),
  measure: z.enum(effortMeasures),
  rule: z.enum(['equal', 'within']),
  allowed: z.number(),
  found: z.number(),
  holds: z.boolean(),
});

const ordering = z.object({
  arms: z.array(z.string()),
  adjacent: z.array(z.object({ contrast: z.string(), p: number })),
  chain: z.boolean(),
  page: z.object({ statistic: z.number(), p: z.number() }).nullable(),
});

/** The output of `python -m coevolve_statistics`. */
export const analysisOutput: z.ZodType<AnalysisOutput> = z.object({
  version: z.number().int(),
  look: z.number().int(),
  arms: z.array(arm),
  contrasts: z.array(contrast),
  effort: z.array(effort),
  ordering: ordering.nullable(),
  breakdown: z.array(
    z.object({
      contrast: z.string(),
      feature: z.string(),
      value: z.string(),
      tasks: z.number().int(),
      difference: number,
      ...interval,
    }),
  ),
  curves: z.array(z.object({ arm: z.string(), checkpoint: z.number().int(), mean: z.number(), ...interval })),
  power: z.array(z.object({ difference: z.number(), seeds: z.number().int(), power: z.number() })),
  conditionalPower: number,
  wonAndLost: z.array(
    z.object({
      contrast: z.string(),
      seed: z.number().int(),
      won: z.number().int(),
      lost: z.number().int(),
      p: z.number(),
    }),
  ),
});
