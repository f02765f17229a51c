import type { Config } from '../../config';
import type { Experiment } from '../../domain/experiment/experiment';
import { UsageError } from '../../errors/errors';
import { planPower, type Noise } from '../../statistics/plan-power';
import { analyzeTable } from './analyze-table';

/** Deviations of one arm's success from run to run before any was measured: the likely one, and a range around it. */
const priorRunSds = [0.025, 0.01, 0.04];
/** Share of the tasks that only one of two runs solves, over pairs of quickstarts. */
const priorDiscordance = 0.24;

/** The contrast of an earlier experiment, and the deviation of its differences. */
export type MeasuredNoise = { experiment: string; contrast: string; metric: string; sd: number; seeds: number };

/** Differences of the primary contrast that are found with 80 % power. A number of seeds that finds none has null. */
export type Detectable = {
  deviation: number;
  differences: { seeds: number; difference: number | null }[];
  /** Chance to show equivalence where the arms do not differ. */
  equivalence: { seeds: number; power: number }[];
};

export type PlannedPower = {
  /** The measured deviation of differences, or null for a prior of the deviation of runs. */
  measured: MeasuredNoise | null;
  /** By deviation: the likely one first, then the bounds of a range. */
  detectable: Detectable[];
};

/**
 * Returns the detectable differences at every look, by deviation; null where the prior says nothing or no test is
 * possible.
 *
 * @throws UsageError if the deviation was measured by another metric
 */
export async function planDetectable(
  config: Pick<Config, 'python'>,
  { looks, analysis }: Pick<Experiment, 'looks' | 'analysis'>,
  tasks: number,
  measured: MeasuredNoise | null = null,
): Promise<PlannedPower | null> {
  if (looks[0]! < 2 || (!measured && (analysis.metric !== 'success' || tasks === 0))) return null;
  if (measured && measured.metric !== analysis.metric)
    throw new UsageError(`--measured: found the metric ${measured.metric}, expected ${analysis.metric}`);
  const noise: Noise = measured
    ? { kind: 'measured', sd: measured.sd, seeds: measured.seeds }
    : { kind: 'prior', runSds: priorRunSds, discordance: priorDiscordance, tasks };
  const { deviations } = await planPower(config, {
    alpha: analysis.alpha,
    looks,
    seeds: looks,
    differences: [],
    margin: analysis.margin,
    noise,
  });
  return {
    measured,
    detectable: deviations.map(({ sd, detectable, equivalence }, index) => ({
      deviation: measured ? sd : priorRunSds[index]!,
      differences: detectable,
      equivalence,
    })),
  };
}

/**
 * Returns the deviation that an exported experiment measured, for the contrast of this name or else its primary one.
 *
 * @throws UsageError if the contrast is invalid or has no deviation
 */
export async function measureNoise(
  config: Pick<Config, 'python'>,
  file: string,
  contrast: string,
): Promise<MeasuredNoise> {
  const { record, analysis } = await analyzeTable(config, file, null);
  const { name, analysis: declared } = record.experiment;
  const found = analysis.contrasts.find((each) => each.contrast === contrast) ?? analysis.contrasts[0]!;
  if (!found.sd)
    throw new UsageError(
      `--measured: ${found.contrast} of ${name} is ${found.verdict} and has no deviation, expected a table with one`,
    );
  return { experiment: name, contrast: found.contrast, metric: declared.metric, sd: found.sd, seeds: found.seeds };
}
