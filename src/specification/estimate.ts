import { playsAttempts, recipes } from '../domain/campaign/recipe';
import type { CampaignSpec } from './campaign-spec';
import { gpusOf } from './compute-settings';
import { plannedSize } from './iteration-plan';
import { evaluationSets } from './evaluation-settings';
import { estimateModels, type ModelEstimate } from './estimate-models';
import { estimateTraining, jobsOf, measuredTraining, passesOf } from './estimate-training';
import { computedSpread, trainingRate, type MeasuredSpeed, type MeasuredSpeeds } from './training-rate';
import type { JobLength, MeasuredLengths, TrainingEstimate } from './estimate-training';

export type Estimate = {
  attempts: number;
  /** Attempts that agents train on, without evaluations, expert trajectories and checks of candidates. */
  trainingAttempts: number;
  /** Prompt and completion tokens of the attempts. */
  tokens: number;
  updates: number;
  /** Duration of the campaign, on two cores if no speed was measured; null if there is no basis for an estimate. */
  seconds: number | null;
  /** Seconds at the highest and at the lowest speeds and lengths that are likely. */
  range: { low: number; high: number } | null;
  /** Basis of the attempts' speed, in one line. */
  attemptSpeed: string;
  training: TrainingEstimate;
  /** Calls of language models and their cost; null if none is configured. */
  models: ModelEstimate | null;
};

/** Means over three quickstart campaigns on two quiet cores (76, 89, 106); a rough estimate for other tasks and policies. */
const measured = {
  attemptsPerSecond: 90,
  /** SmolLM2-135M on the same two cores. */
  importedAttemptsPerSecond: 0.375,
  importedParameters: 134.5e6,
  /** Of the phases that neither play nor train. */
  secondsPerIteration: 3,
};

/** 100 entries of BFCL with prompts of 3,000 tokens took 2.25 times as long (docs/log.md). */
const otherTasksSpread = 3;

/**
 * Estimates the work and the cost of a campaign. Counts that the spec fixes are exact; costs are estimates.
 *
 * @param parameters parameter count of the imported model; null if it is not imported yet
 * @param lengths    those of trajectories of the environment; null without any
 * @param speeds     those of this machine, where they were measured
 */
export function estimate(
  spec: CampaignSpec,
  parameters: number | null = null,
  lengths: MeasuredLengths | null = null,
  speeds: MeasuredSpeeds = { training: null, attempts: null },
): Estimate {
  const recipe = recipes[spec.recipe];
  const { trainTasks } = spec.environment;
  const sets = evaluationSets(spec);
  const heldOutTasks = sets.reduce((total, { tasks }) => total + tasks, 0); // reported sets: if every candidate is promoted
  const { tasksPerIteration, tasksPerStep, stepsPerIteration } = spec.rollouts;
  const agents = recipe.agents.length;

  const isPlaying = playsAttempts(recipe);
  let attempts = trainTasks + heldOutTasks;
  let updates = spec.start === 'sft' ? agents * updatesOf(trainTasks, spec.training.sft) : 0;
  const played: number[] = [];
  let pool = trainTasks;
  for (let iteration = 1; iteration <= spec.iterations; iteration++) {
    const growth = plannedSize(spec, iteration).candidates;
    const inSteps = (tasksPerStep ?? 0) * (stepsPerIteration ?? 0);
    const tasks = inSteps || Math.min(pool, tasksPerIteration ?? pool);
    const rollouts = isPlaying ? tasks * spec.rollouts.attempts * agents : 0;
    played.push(rollouts);
    attempts += rollouts + heldOutTasks + growth;
    pool += growth;
    for (const { method, data } of jobsOf(spec)) {
      const settings = spec.training[method];
      updates +=
        'batchSize' in settings
          ? updatesOf(data === 'expert' ? trainTasks : rollouts / 2, settings)
          : (stepsPerIteration ?? 0) * ('miniBatches' in settings ? settings.epochs * settings.miniBatches : 1);
    }
  }
  const training = estimateTraining(spec, played, { parameters, lengths, measured: speeds.training });
  const speed = attemptSpeed(spec, parameters, speeds);
  const parallelJobs = Math.min(2, agents); // two cores
  const secondsAt = (sign: -1 | 0 | 1): number | null =>
    speed.rate === null || training.seconds === null
      ? null
      : Math.round(
          (attempts / speed.rate) * speed.spread ** sign +
            (training.seconds / parallelJobs) * training.spread ** sign +
            (spec.iterations + 1) * measured.secondsPerIteration,
        );
  const [low, seconds, high] = [secondsAt(-1), secondsAt(0), secondsAt(1)];
  return {
    attempts,
    trainingAttempts: played.reduce((total, count) => total + count, 0),
    tokens: Math.round(attempts * (lengths?.mean ?? measuredTraining.tokensPerTrajectory)),
    updates: Math.round(updates),
    seconds,
    range: low === null || high === null ? null : { low, high },
    attemptSpeed: `${speed.rate === null ? 'speed unknown' : `${Number(speed.rate.toPrecision(2))} attempts/s`} (${speed.basis})`,
    training,
    models: estimateModels(spec, lengths),
  };
}

type Speed = Omit<MeasuredSpeed, 'rate'> & { rate: number | null };

/**
 * Returns the measured speed of attempts. Without one it is that of quickstart campaigns or of SmolLM2-135M on short SQL
 * tasks, multiplied by the ratio of this machine's speed of training to the computed one.
 */
function attemptSpeed(spec: CampaignSpec, parameters: number | null, { attempts, training }: MeasuredSpeeds): Speed {
  if (attempts) return attempts;
  const { policy, compute } = spec;
  const unknown = { rate: null, spread: 1 };
  if (gpusOf(compute) > 0) return { ...unknown, basis: 'no attempts of this policy were played here on GPUs' };
  const { tokensPerS } = trainingRate(spec, parameters);
  const ratio = training && tokensPerS ? training.rate / tokensPerS : 1;
  const scaled = training ? ", scaled by this machine's training" : '';
  if (policy.source === 'scratch')
    return { rate: ratio * measured.attemptsPerSecond, spread: computedSpread, basis: `quickstart campaigns${scaled}` };
  if (parameters === null) return { ...unknown, basis: 'the size of the model is unknown' };
  const rate = (ratio * measured.importedAttemptsPerSecond * measured.importedParameters) / parameters;
  return { rate, spread: otherTasksSpread, basis: `SmolLM2-135M on short SQL tasks${scaled}` };
}

const updatesOf = (rows: number, length: JobLength): number =>
  length.updates ?? (rows * passesOf(length, rows)) / length.batchSize;
