import { recipes } from '../domain/recipe';
import type { CampaignSpec } from './campaign-spec';
import { estimateModels, type ModelEstimate } from './estimate-models';

export type Estimate = {
  attempts: number;
  tokens: number;
  updates: number;
  seconds: number;
  /** Calls of language models, and what they would cost; null where none is configured. */
  models: ModelEstimate | null;
};

/** Means over quickstart campaigns on two cores; a first guess for other tasks and policies. */
const measured = {
  tokensPerAttempt: 170,
  attemptsPerSecond: 55,
  updatesPerSecond: 25,
  secondsPerJob: 8,
  secondsPerIteration: 12,
};

/** What a campaign will do, from its spec alone: counts are exact where the spec fixes them, costs are guesses. */
export function estimate(spec: CampaignSpec): Estimate {
  const recipe = recipes[spec.recipe];
  const { trainTasks, heldOutTasks } = spec.environment;
  const { tasksPerIteration, tasksPerStep, stepsPerIteration } = spec.rollouts;
  const agents = recipe.agents.length;
  const growth = recipe.aims.length * spec.synthesis.candidatesPerSignal;

  let attempts = trainTasks + heldOutTasks;
  let updates = agents * updatesOf(trainTasks, spec.training.sft);
  for (let iteration = 1; iteration <= spec.iterations; iteration++) {
    const pool = trainTasks + growth * (iteration - 1);
    const inSteps = (tasksPerStep ?? 0) * (stepsPerIteration ?? 0);
    const tasks = inSteps || Math.min(pool, tasksPerIteration ?? pool);
    const played = tasks * spec.rollouts.attempts * agents;
    attempts += played + heldOutTasks + growth;
    for (const { method } of recipe.training) {
      const settings = spec.training[method];
      updates += 'epochs' in settings ? updatesOf(played / 2, settings) : (stepsPerIteration ?? 0);
    }
  }
  const jobs = 1 + agents + recipe.training.length * spec.iterations;
  return {
    attempts,
    tokens: Math.round(attempts * measured.tokensPerAttempt),
    updates: Math.round(updates),
    seconds: Math.round(
      attempts / measured.attemptsPerSecond +
        updates / measured.updatesPerSecond +
        jobs * measured.secondsPerJob +
        (spec.iterations + 1) * measured.secondsPerIteration,
    ),
    models: estimateModels(spec),
  };
}

const updatesOf = (rows: number, { epochs, batchSize }: { epochs: number; batchSize: number }): number =>
  (rows * epochs) / batchSize;
