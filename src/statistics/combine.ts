import { z } from 'zod';
import type { Config } from '../config';
import { runPython } from './run-python';

/** Runs of several arms in several environments. Every arm has a run for each seed in each environment. */
export const combineInput = z.object({
  /** At least three, all different. */
  environments: z.array(z.string()).readonly(),
  seeds: z.int().min(2),
  /** `values` are scores from 0 to 1, by environment and seed. */
  arms: z
    .array(z.object({ arm: z.string(), values: z.array(z.array(z.number().min(0).max(1)).readonly()).readonly() }))
    .readonly(),
});

/** A measure of all runs of an arm, with its 95 % interval; below eight seeds there is none. */
const runMeasure = z.object({ value: z.number(), low: z.number().nullable(), high: z.number().nullable() });
export type RunMeasure = z.infer<typeof runMeasure>;

/** An arm over all environments (Agarwal et al. 2021, arXiv:2108.13264, section 4). */
const combinedArm = z.object({
  arm: z.string(),
  /** Interquartile mean: the mean without a quarter of the runs at each end. */
  iqm: runMeasure,
  /** Optimality gap: the mean of what each run lacks to 1. */
  gap: runMeasure,
  /** Performance profile: the share of the runs with a score above each of 101 scores from 0 to 1. */
  profile: z.array(runMeasure.extend({ score: z.number() })),
});
export type CombinedArm = z.infer<typeof combinedArm>;

/** An experiment among several that are shown together. */
export type CombinedExperiment = {
  name: string;
  environment: string;
  metric: string;
  /** Number of seeds per arm. */
  seeds: number;
  /** Test tasks per cell. */
  tasks: number;
  /** Hash of the frozen file. */
  hash: string;
  /** sha256 of the analysed input. */
  inputHash: string;
  /** Rules of a fair comparison that do not hold. */
  brokenRules: readonly string[];
  /** Arms that another of the experiments lacks; they are not shown. */
  otherArms: readonly string[];
};

/** The arms that several experiments share, one experiment per environment. */
export type CombinedExperiments = { experiments: readonly CombinedExperiment[]; arms: readonly CombinedArm[] };

/**
 * Measures arms over several environments (docs/statistics.md). Intervals come from a bootstrap that draws the seeds of
 * each environment again.
 *
 * @throws DomainError `InvalidAnalysis`; StackError if the Python packages are not installed
 */
export const combineEnvironments = (
  config: Pick<Config, 'python'>,
  input: z.infer<typeof combineInput>,
): Promise<CombinedArm[]> =>
  runPython(config, ['combine'], input, z.object({ arms: z.array(combinedArm) })).then(({ arms }) => arms);
