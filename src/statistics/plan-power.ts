import { z } from 'zod';
import type { Config } from '../config';
import { runPython } from './run-python';

/** What is known of the deviation of a seed's difference. */
const noise = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('prior'),
    /** Deviations between runs of one arm beyond the noise of the tasks, for example 0.025. */
    runSds: z.array(z.number().min(0).max(1)).readonly(),
    /** Share of the tasks that only one of two runs solves, for example 0.24. */
    discordance: z.number().min(0).max(1),
    /** Tasks of `test` per seed. */
    tasks: z.int().min(1),
  }),
  /** The deviation of the differences of this number of seeds; the bounds of its 95 % interval follow it. */
  z.object({ kind: z.literal('measured'), sd: z.number().min(0).max(1), seeds: z.int().min(2) }),
]);
export type Noise = z.infer<typeof noise>;

/** A question before the first cell: which differences do which numbers of seeds detect? */
export const powerInput = z.object({
  /** Level of all looks together; for the strictest step of Holm's correction divided by the number of contrasts. */
  alpha: z.number().gt(0).lt(1),
  looks: z.array(z.int().min(2)).readonly(),
  noise,
  seeds: z.array(z.int().min(2)).readonly(),
  differences: z.array(z.number().gt(0).lt(1)).readonly(),
  /** Of equivalence. */
  margin: z.number().gt(0).lt(1),
});
export type PowerInput = z.infer<typeof powerInput>;

const number = z.number().nullable();
const point = { seeds: z.number().int(), difference: z.number() };

const powerOutput = z.object({
  /** Level of one look. */
  level: z.number(),
  deviations: z.array(
    z.object({
      sd: z.number(),
      detectable: z.array(z.object({ seeds: z.number().int(), difference: number })),
      needed: z.array(z.object({ difference: z.number(), seeds: number })),
      power: z.array(z.object({ ...point, power: z.number() })),
      /** Chance to show equivalence where the arms do not differ. */
      equivalence: z.array(z.object({ seeds: z.number().int(), power: z.number() })),
    }),
  ),
});

/**
 * By `sd` of a seed's difference, with 80 % power. Of a prior: sd^2 = 2 runSd^2 + discordance / tasks, in the order of
 * `runSds`; of a measured one: itself and the bounds of its interval.
 */
export type PowerOutput = z.infer<typeof powerOutput>;

/** @throws DomainError `InvalidAnalysis`; StackError if the Python packages are not installed */
export const planPower = (config: Pick<Config, 'python'>, input: PowerInput): Promise<PowerOutput> =>
  runPython(config, ['power'], input, powerOutput);
