import { isReinforcement, recipes, type RecipeJob } from '../domain/campaign/recipe';
import type { CampaignSpec } from './campaign-spec';
import { trainingRate } from './training-rate';

/** null where nobody can know: it is said, not guessed. */
export type TrainingAmounts = {
  tokens: number;
  /** Summed over jobs, some of which run side by side. */
  seconds: number | null;
  gpuSeconds: number | null;
  usd: number | null;
};

export type TrainingEstimate = TrainingAmounts & {
  /** The supervised start is iteration 0. */
  phases: (TrainingAmounts & { iteration: number; phase: 'train' | 'optimize'; jobs: number })[];
  /** What the figures rest on, in one line. */
  assumptions: string;
};

/** Of quickstart campaigns: tokens of a trajectory, seconds until a job makes its first update. */
export const measuredTraining = { tokensPerTrajectory: 170, secondsToStart: 8 };

/**
 * About what training takes, phase by phase, from the spec alone.
 *
 * @param played     attempts that the agents make in each iteration, from 1; half of them are taken to give a pair
 * @param parameters of the imported model; null while it is not imported
 */
export function estimateTraining(
  spec: CampaignSpec,
  played: readonly number[],
  parameters: number | null,
): TrainingEstimate {
  const { tokensPerS, basis } = trainingRate(spec, parameters);
  const phases = trajectoriesByPhase(spec, played).map(({ trajectories, ...phase }) => ({
    ...phase,
    ...costOf(spec, phase.jobs, trajectories * tokensPerRow(spec), tokensPerS),
  }));
  const speed = tokensPerS === null ? 'speed unknown' : `${Math.round(tokensPerS).toLocaleString('en')} tokens/s`;
  return { ...sumOf(phases), phases, assumptions: `${speed} (${basis}), ${tokensPerRow(spec)} tokens a trajectory` };
}

/**
 * About how long one job takes, in seconds: what is reserved for it. null where nobody can know.
 *
 * @param job rows of its dataset, or of a resident job its updates
 */
export function estimateJob(
  spec: CampaignSpec,
  { method, rows, steps }: { method: keyof CampaignSpec['training']; rows: number; steps: number | null },
  parameters: number | null,
): number | null {
  const settings = spec.training[method];
  const { tasksPerStep, attempts } = spec.rollouts;
  const trajectories =
    'epochs' in settings
      ? settings.epochs * rows * (method === 'sft' || method === 'rft' ? 1 : 2)
      : (steps ?? 0) * (tasksPerStep ?? 0) * attempts;
  const { tokensPerS } = trainingRate(spec, parameters);
  return tokensPerS && (trajectories * tokensPerRow(spec)) / tokensPerS + measuredTraining.secondsToStart;
}

type Work = { iteration: number; phase: 'train' | 'optimize'; jobs: number; trajectories: number };

/** Trajectories that are trained on, each as often as it is passed over; a pair is two. */
function trajectoriesByPhase(spec: CampaignSpec, played: readonly number[]): Work[] {
  const recipe = recipes[spec.recipe];
  const agents = spec.start === 'sft' ? recipe.agents.length : 0;
  const start: Work = {
    ...{ iteration: 0, phase: 'train', jobs: agents },
    trajectories: agents * spec.environment.trainTasks * spec.training.sft.epochs,
  };
  const phase = isReinforcement(recipe) ? 'optimize' : 'train';
  const later = played.map((attempts, i): Work => {
    const steps: readonly RecipeJob[] = recipe.training;
    const trajectories = steps.reduce((sum, step) => sum + trajectoriesOf(spec, step, attempts), 0);
    return { iteration: i + 1, phase, jobs: steps.length, trajectories };
  });
  return [start, ...later].filter(({ jobs }) => jobs > 0);
}

function trajectoriesOf(spec: CampaignSpec, { role, method, data }: RecipeJob, attempts: number): number {
  const settings = spec.training[method];
  if (!('epochs' in settings)) return attempts; // each rollout once
  const { trainTasks } = spec.environment;
  const pairs = data.startsWith('pairs') ? Math.min(attempts / 2, mostPairs(spec, role)) : 0;
  const successes = data === 'expert-and-successes' ? attempts / 2 : 0;
  const experts = data === 'pairs' ? 0 : trainTasks;
  return settings.epochs * (2 * pairs + successes + experts);
}

/** What the spec lets the pairs of a role be at most. */
function mostPairs({ pairs }: CampaignSpec, role: RecipeJob['role']): number {
  if (role === 'failure') return pairs.failureAgent.maxPairs ?? Infinity;
  const kinds = Object.values(pairs.target).filter(({ enabled }) => enabled !== false);
  return kinds.reduce((sum, { maxPairs }) => sum + (maxPairs ?? Infinity), 0);
}

const tokensPerRow = ({ training }: CampaignSpec): number =>
  Math.min(measuredTraining.tokensPerTrajectory, training.sft.maxLength);

function costOf({ compute }: CampaignSpec, jobs: number, tokens: number, tokensPerS: number | null): TrainingAmounts {
  if (tokensPerS === null) {
    const free = compute.gpus === 0 ? 0 : null; // one's own CPUs, however long
    return { tokens: Math.round(tokens), seconds: null, gpuSeconds: free, usd: free };
  }
  const seconds = tokens / tokensPerS + jobs * measuredTraining.secondsToStart;
  const gpuSeconds = seconds * compute.gpus;
  return {
    ...{ tokens: Math.round(tokens), seconds: Math.round(seconds), gpuSeconds: Math.round(gpuSeconds) },
    usd: (gpuSeconds / 3600) * compute.pricePerGpuHour,
  };
}

function sumOf(phases: readonly TrainingAmounts[]): TrainingAmounts {
  const sum = (amount: 'seconds' | 'gpuSeconds' | 'usd'): number | null =>
    phases.reduce<number | null>((all, one) => (all === null || one[amount] === null ? null : all + one[amount]), 0);
  return {
    tokens: phases.reduce((all, { tokens }) => all + tokens, 0),
    ...{ seconds: sum('seconds'), gpuSeconds: sum('gpuSeconds'), usd: sum('usd') },
  };
}
