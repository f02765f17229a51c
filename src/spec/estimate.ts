import { playsAttempts, recipes } from '../domain/campaign/recipe';
import type { CampaignSpec } from './campaign-spec';
import { gpusOf } from './compute-settings';
import { plannedSize } from './iteration-plan';
import { evaluationSets } from './evaluation-settings';
import { estimateModels, type ModelEstimate } from './estimate-models';
import { estimateTraining, jobsOf, measuredTraining, passesOf } from './estimate-training';
import type { JobLength, MeasuredLengths, TrainingEstimate } from './estimate-training';

export type Estimate = {
  attempts: number;
  /** Attempts that agents train on, without evaluations, expert trajectories and checks of candidates. */
  trainingAttempts: number;
  /** Prompt and completion tokens of the attempts. */
  tokens: number;
  updates: number;
  /** Duration of the campaign on two cores; null if there is no basis for an estimate. */
  seconds: number | null;
  training: TrainingEstimate;
  /** Calls of language models and their cost; null if none is configured. */
  models: ModelEstimate | null;
};

/** Means over quickstart campaigns on two cores; a rough estimate for other tasks and policies. */
const measured = {
  attemptsPerSecond: 55,
  /** SmolLM2-135M on the same two cores. */
  importedAttemptsPerSecond: 0.375,
  importedParameters: 134.5e6,
  secondsPerIteration: 12,
};

/**
 * Estimates the work and the cost of a campaign. Counts that the spec fixes are exact; costs are estimates.
 *
 * @param parameters parameter count of the imported model; null if it is not imported yet
 * @param lengths    those of trajectories of the environment; null without any
 */
export function estimate(
  spec: CampaignSpec,
  parameters: number | null = null,
  lengths: MeasuredLengths | null = null,
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
  const training = estimateTraining(spec, played, parameters, lengths);
  const rate = attemptsPerSecond(spec, parameters);
  const parallelJobs = Math.min(2, agents); // two cores
  return {
    attempts,
    trainingAttempts: played.reduce((total, count) => total + count, 0),
    tokens: Math.round(attempts * (lengths?.mean ?? measuredTraining.tokensPerTrajectory)),
    updates: Math.round(updates),
    seconds:
      rate === null || training.seconds === null
        ? null
        : Math.round(
            attempts / rate + training.seconds / parallelJobs + (spec.iterations + 1) * measured.secondsPerIteration,
          ),
    training,
    models: estimateModels(spec),
  };
}

/** Attempts per second on two cores; null on GPUs, which were not measured. */
function attemptsPerSecond({ policy, compute }: CampaignSpec, parameters: number | null): number | null {
  if (policy.source === 'scratch') return measured.attemptsPerSecond;
  if (parameters === null || gpusOf(compute) > 0) return null;
  return (measured.importedAttemptsPerSecond * measured.importedParameters) / parameters;
}

const updatesOf = (rows: number, length: JobLength): number =>
  length.updates ?? (rows * passesOf(length, rows)) / length.batchSize;
