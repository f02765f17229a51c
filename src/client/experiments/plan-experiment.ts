import type { Config } from '../../config';
import { cellsOf, type EffortMeasure, type Experiment } from '../../domain/experiment/experiment';
import { recipes, synthesizes } from '../../domain/campaign/recipe';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { Estimate } from '../../specification/estimate';
import { evaluationSets } from '../../specification/evaluation-settings';
import { cellSpec } from '../../specification/experiment/cell-spec';
import { estimateCampaign, type KnownSpeeds } from '../estimate/estimate-campaign';
import { measureNoise, planDetectable, type PlannedPower } from './plan-detectable';

/** Estimates of the measures of one cell; a measure without a basis is absent. */
export type PlannedEffort = Partial<Record<EffortMeasure, number>>;

/** `lengthens`: the jobs of the arm get longer with its pool, by a number of admitted tasks that no estimate knows. */
export type PlannedArm = { arm: string; effort: PlannedEffort; lengthens: boolean };

export type ExperimentPlan = {
  experiment: Experiment;
  cells: number;
  testTasks: number;
  arms: PlannedArm[];
  /**
   * Rules of `match` that the estimates of the arms of a contrast break. `found` is null if the pool of one arm lengthens
   * its jobs.
   */
  unmatched: { contrast: string; measure: EffortMeasure; found: number | null; allowed: number }[];
  /** Is null for one seed, and for a metric that the prior of the noise does not cover. */
  power: PlannedPower | null;
  /** Sum over all cells, if it is known. Nothing is shared between cells but the two cores. */
  hours: number | null;
  /** Hours at the highest and at the lowest likely speeds. */
  range: { low: number; high: number } | null;
  /** Basis of the speeds of the first arm, one line each. */
  speeds: string[];
  usd: number | null;
};

/**
 * Estimates the effort of an experiment from the estimate of one campaign of each arm.
 *
 * @param table exported table of an earlier experiment, which gives the deviation instead of the prior
 */
export async function planExperiment(
  config: Config,
  experiment: Experiment,
  table: string | null = null,
): Promise<ExperimentPlan> {
  const measured = table === null ? null : await measureNoise(config, table, experiment.analysis.primary.name);
  const seeds = experiment.looks.at(-1)!;
  const arms: ExperimentPlan['arms'] = [];
  const estimates: Estimate[] = [];
  const speeds: KnownSpeeds = new Map();
  let testTasks = 0;
  for (const { name } of experiment.arms) {
    const spec = cellSpec(experiment, { arm: name, seed: 1 });
    testTasks = evaluationSets(spec).find((set) => set.name === 'test')?.tasks ?? 0;
    const expected = await estimateCampaign(config, spec, speeds);
    estimates.push(expected);
    arms.push({ arm: name, effort: effortOf(expected), lengthens: lengthens(spec) });
  }
  const sum = (measure: EffortMeasure): number | null =>
    arms.reduce<number | null>(
      (all, { effort: { [measure]: one } }) => (all === null || one === undefined ? null : all + one * seeds),
      0,
    );
  const seconds = sum('wallSeconds');
  const hoursAt = (bound: 'low' | 'high'): number =>
    estimates.reduce((all, { range }) => all + ((range?.[bound] ?? 0) * seeds) / 3600, 0);
  return {
    experiment,
    cells: cellsOf(experiment.arms, experiment.looks.at(-1)!).length,
    testTasks,
    arms,
    unmatched: unmatchedRules(experiment, arms),
    power: await planDetectable(config, experiment, testTasks, measured),
    hours: seconds === null ? null : seconds / 3600,
    range: seconds === null ? null : { low: hoursAt('low'), high: hoursAt('high') },
    speeds: [estimates[0]!.training.assumptions, estimates[0]!.attemptSpeed],
    usd: sum('usd'),
  };
}

function effortOf(found: Estimate): PlannedEffort {
  const { seconds, gpuSeconds, usd, tokens } = found.training;
  return {
    environmentAttempts: found.trainingAttempts,
    updates: found.updates,
    trainedTokens: tokens,
    rolloutTokens: found.tokensPerAttempt * found.trainingAttempts,
    ...(found.models ? { modelTokens: found.models.tokens } : {}),
    ...(usd === null ? {} : { usd: usd + (found.models?.usd ?? 0) }),
    ...(gpuSeconds === null ? {} : { gpuSeconds }),
    ...(seconds === null || found.seconds === null ? {} : { wallSeconds: found.seconds }),
  };
}

/** With `epochs` a larger pool means more updates; with `updates` it does not. */
const lengthens = (spec: CampaignSpec): boolean =>
  synthesizes(spec) &&
  recipes[spec.recipe].training.some(
    ({ method, data }) => data === 'pairs-and-experts' && spec.training[method].epochs !== null,
  );

const lengthened: readonly EffortMeasure[] = ['updates', 'trainedTokens'];

function unmatchedRules({ match, analysis }: Experiment, arms: ExperimentPlan['arms']): ExperimentPlan['unmatched'] {
  const rules = [
    ...match.equal.map((measure) => ({ measure, allowed: 0 })),
    ...(Object.entries(match.within) as [EffortMeasure, number][]).map(([measure, allowed]) => ({ measure, allowed })),
  ];
  const armOf = (name: string) => arms.find(({ arm }) => arm === name)!;
  return [analysis.primary, ...analysis.secondary].flatMap(({ name, plus, minus }) =>
    rules.flatMap(({ measure, allowed }) => {
      const found = differenceOf(measure, armOf(plus), armOf(minus));
      return found === null || found > allowed ? [{ contrast: name, measure, found, allowed }] : [];
    }),
  );
}

/** Returns the difference relative to the larger amount, if both are known. */
function differenceOf(measure: EffortMeasure, plus: PlannedArm, minus: PlannedArm): number | null {
  if (lengthened.includes(measure) && plus.lengthens !== minus.lengthens) return null;
  const [one, other] = [plus.effort[measure] ?? 0, minus.effort[measure] ?? 0];
  return one === other ? 0 : Math.abs(one - other) / Math.max(one, other);
}
