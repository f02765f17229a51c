import { z } from 'zod';
import type { Config } from '../config';
import { runPython } from './run-python';

/** A question before the first cell: which differences do which numbers of seeds detect? */
export type PowerInput = {
  /** Level of all looks together; for the strictest step of Holm's correction divided by the number of contrasts. */
  alpha: number;
  looks: readonly number[];
  /** Deviations between runs of one arm beyond the noise of the tasks, for example 0.025. */
  runSds: readonly number[];
  /** Share of the tasks that only one of two runs solves, for example 0.24. */
  discordance: number;
  /** Tasks of `test` per seed. */
  tasks: number;
  seeds: readonly number[];
  differences: readonly number[];
};

const number = z.number().nullable();
const point = { seeds: z.number().int(), difference: z.number() };

const powerOutput = z.object({
  /** Level of one look. */
  level: z.number(),
  deviations: z.array(
    z.object({
      ...{ runSd: z.number(), sd: z.number() },
      detectable: z.array(z.object({ seeds: z.number().int(), difference: number })),
      needed: z.array(z.object({ difference: z.number(), seeds: number })),
      power: z.array(z.object({ ...point, power: z.number() })),
    }),
  ),
});

/** By deviation between runs: `sd` of a seed's difference, its squares 2 runSd^2 + discordance / tasks; 80 % power. */
export type PowerOutput = z.infer<typeof powerOutput>;

/** @throws DomainError `InvalidAnalysis`; StackError if the Python packages are not installed */
export const planPower = (config: Pick<Config, 'python'>, input: PowerInput): Promise<PowerOutput> =>
  runPython(config, ['power'], input, powerOutput);
