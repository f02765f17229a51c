/** Runs of several arms in several environments. Every arm has a run for each seed in each environment. */
export type CombineInput = {
  /** At least three, all different. */
  environments: readonly string[];
  /** Number of seeds, at least two. */
  seeds: number;
  /** `values`: scores from 0 to 1, by environment and seed. */
  arms: readonly { arm: string; values: readonly (readonly number[])[] }[];
};

/** A measure of all runs of an arm, with its 95 % interval; below eight seeds there is none. */
export type RunMeasure = { value: number; low: number | null; high: number | null };

/** An arm over all environments (Agarwal et al. 2021, arXiv:2108.13264, section 4). */
export type CombinedArm = {
  arm: string;
  /** Interquartile mean: the mean without a quarter of the runs at each end. */
  iqm: RunMeasure;
  /** Optimality gap: the mean of what each run lacks to 1. */
  gap: RunMeasure;
  /** Performance profile: the share of the runs with a score above each of 101 scores from 0 to 1. */
  profile: readonly (RunMeasure & { score: number })[];
};

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
