import { z } from 'zod';
import type { Config } from '../config';
import { runPython } from './run-python';

/** Differences of one contrast in several experiments, as shares; at least two. */
export const poolInput = z.object({
  studies: z
    .array(
      z.object({
        difference: z.number().min(-1).max(1),
        /** Standard deviation of the differences by seed. */
        sd: z.number().gt(0).lt(2),
        seeds: z.int().min(2),
      }),
    )
    .readonly(),
});

const number = z.number().nullable();

/** The mean of the true differences of some experiments. One alone has no interval, and two have no prediction. */
const pooledDifference = z.object({
  studies: z.int(),
  difference: z.number(),
  error: number,
  /** 95 % interval, and p of no difference (Hartung, Knapp, Sidik and Jonkman). */
  low: number,
  high: number,
  p: number,
  /** Standard deviation of the true differences between experiments. */
  tau: z.number(),
  /** Share of the scatter that chance within the experiments does not explain. */
  i2: z.number(),
  /** 95 % interval of the true difference in a further experiment. */
  predictedLow: number,
  predictedHigh: number,
});
export type PooledDifference = z.infer<typeof pooledDifference>;

const poolOutput = z.object({
  /** In the order of the input: 95 % t interval over the seeds, and share of the mean. */
  studies: z.array(z.object({ low: number, high: number, weight: z.number() })),
  pooled: pooledDifference,
  /** The same without each of the experiments, in their order. */
  without: z.array(pooledDifference),
});

/** The contrast of an experiment among several that are pooled. */
export type PooledContrast = {
  experiment: string;
  /** Hash of the frozen file. */
  hash: string;
  environment: string;
  contrast: string;
  verdict: string;
  /** Marks of the verdict, among them that the file does not declare the contrast. */
  marks: readonly string[];
  seeds: number;
  difference: number | null;
  sd: number | null;
};

/** An experiment in the pooled mean. */
export type PooledStudy = PooledContrast & {
  low: number | null;
  high: number | null;
  weight: number;
  without: PooledDifference;
};

export type PooledExperiments = {
  metric: string;
  studies: readonly PooledStudy[];
  /** Experiments without a usable difference. */
  leftOut: readonly (PooledContrast & { reason: string })[];
  pooled: PooledDifference;
};

/**
 * Pools the differences of a contrast over experiments by random effects (docs/statistics.md).
 *
 * @throws DomainError `InvalidAnalysis`; StackError if the Python packages are not installed
 */
export const poolStudies = (
  config: Pick<Config, 'python'>,
  input: z.infer<typeof poolInput>,
): Promise<z.infer<typeof poolOutput>> => runPython(config, ['pool'], input, poolOutput);
