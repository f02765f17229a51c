import { attemptLengths, type AttemptLengths } from '../domain/training/attempt-lengths';
import { isReinforcement, recipes, type RecipeJob } from '../domain/campaign/recipe';
import { gpusOf } from './compute-settings';
import { trainingOf } from './iteration-plan';
import type { CampaignSpec } from './campaign-spec';
import { count } from '../domain/formats';
import type { RowLength } from '../domain/training/row-lengths';

/** Estimated amounts; null if there is no basis for an estimate. */
export type TrainingAmounts = {
  tokens: number;
  /** Sum over all jobs, although some run in parallel. */
  seconds: number | null;
  gpuSeconds: number | null;
  usd: number | null;
};

export type TrainingEstimate = TrainingAmounts & {
  /** The supervised start is iteration 0. */
  phases: (TrainingAmounts & { iteration: number; phase: 'train' | 'optimize'; jobs: number })[];
  /** The true duration is within this factor of the estimate, unless other work shares the machine. */
  spread: number;
  /** Basis of the figures, in one line. */
  assumptions: string;
};

/** Tokens of trajectories that were played for an estimate. */
export type MeasuredLengths = {
  trajectories: number;
  mean: number;
  min: number;
  /** Of an even number: the higher of the two in the middle. */
  median: number;
  max: number;
  /** The mean of all trajectories is within this factor of theirs: two standard errors. */
  spread: number;
  /** How the tokens were found, in some words. */
  basis: string;
  /** Lengths of each trajectory; null if the tokens are reckoned from characters. */
  rows: readonly RowLength[] | null;
  /** Most actions of an attempt at the task of each trajectory; null if they are unknown. */
  turnLimits: readonly number[] | null;
};

/** Measured on quickstart campaigns: tokens per trajectory, seconds until a job's first update. */
export const measuredTraining = { tokensPerTrajectory: 105, secondsToStart: 1 };

/** A speed that was measured on this machine, in units per second. The true one is within `spread` times it. */
export type MeasuredSpeed = { rate: number; spread: number; basis: string };

/** Speeds that are null were not measured. */
export type MeasuredSpeeds = {
  /** Tokens per second of a training job. */
  training: MeasuredSpeed | null;
  /** Attempts per second of a rollout. */
  attempts: MeasuredSpeed | null;
  /** Explains a missing speed, with the next command. */
  unknown: string;
};

/** Returns the parts of a spec that determine its speeds. A campaign with the same parts has the same speeds. */
export function speedKey({ policy, compute, training, environment }: CampaignSpec, hasGpus: boolean) {
  const { source, model, id, adapter, precision } = policy;
  const { reuse: _, pricePerGpuHour: __, device, ...how } = compute;
  return {
    policy: { source, model, id, adapter, precision },
    init: source === 'scratch' ? training.init : {},
    compute: hasGpus ? { ...how, device } : how, // without a GPU every device is the CPU
    environment: environment.name,
  };
}

/**
 * Estimates the training effort of each phase.
 *
 * @param played attempts in each iteration, from iteration 1; half of them are assumed to yield a pair
 */
export function estimateTraining(
  spec: CampaignSpec,
  played: readonly number[],
  lengths: MeasuredLengths | null,
  { training, unknown }: MeasuredSpeeds,
): TrainingEstimate {
  const work = workByPhase(spec, played, (method) => tokensPerRow(spec, method, lengths));
  const phases = work.map(({ tokens, methods: _, ...phase }) => ({
    ...phase,
    ...costOf(spec, phase.jobs, tokens, training?.rate ?? null),
  }));
  const methods = new Set(work.flatMap((phase) => phase.methods));
  const perRow = [...new Set([...methods].map((method) => tokensPerRow(spec, method, lengths)))].join(' or ');
  const speed = training ? `${count(training.rate)} tokens/s` : 'speed unknown';
  return {
    ...sumOf(phases),
    phases,
    spread: (training?.spread ?? 1) * (lengths?.spread ?? 1),
    assumptions: `${speed} (${training?.basis ?? unknown}), ${perRow} tokens a trajectory (${basisOf(lengths)})`,
  };
}

const basisOf = (lengths: MeasuredLengths | null): string =>
  lengths
    ? `${lengths.trajectories} of the environment's own have ${lengths.min} to ${lengths.max}, ${lengths.basis}`
    : 'that of short SQL tasks: no reference actions were played';

/**
 * Estimates the duration of one job in seconds, for the reservation of its cost.
 *
 * @param job has the rows of its dataset, or the update count of an RL job
 */
export function estimateJob(
  spec: CampaignSpec,
  { method, rows, steps }: { method: Method; rows: number; steps: number | null },
  tokensPerS: number,
): number {
  const settings = spec.training[method];
  const { tasksPerStep, attempts } = spec.rollouts;
  const trajectories =
    'batchSize' in settings
      ? passesOf(settings, rows) * rows * (method === 'sft' || method === 'rft' ? 1 : 2)
      : epochsOf(settings) * (steps ?? 0) * (tasksPerStep ?? 0) * attempts;
  return (trajectories * tokensPerRow(spec, method, null)) / tokensPerS + measuredTraining.secondsToStart;
}

/** Settings that determine the length of a job with a dataset: one of `epochs` and `updates` is a number. */
export type JobLength = { epochs: number | null; updates: number | null; batchSize: number };

/** Returns the passes of a job over this number of rows; the last one can be incomplete. */
export const passesOf = ({ epochs, updates, batchSize }: JobLength, rows: number): number =>
  updates === null ? epochs! : updates / Math.max(1, Math.ceil(rows / batchSize));

/** Passes of a job without a dataset over its rollouts. */
const epochsOf = (settings: CampaignSpec['training'][keyof CampaignSpec['training']]): number =>
  'miniBatches' in settings ? settings.epochs : 1;

/** Returns whether a campaign has a training job. */
export const trainsPolicies = (spec: CampaignSpec): boolean => trainedMethods(spec).length > 0;

/** Returns the methods of all training jobs of a campaign, the supervised start first. */
export const trainedMethods = (spec: CampaignSpec): Method[] => [
  ...new Set<Method>([
    ...(spec.start === 'sft' ? (['sft'] as const) : []),
    ...(spec.iterations > 0 ? jobsOf(spec, 1).map(({ method }) => method) : []),
  ]),
];

/** Returns the jobs of an iteration. A failure agent whose pairs are disabled has no rows, and is not trained. */
export const jobsOf = (spec: CampaignSpec, iteration: number): readonly RecipeJob[] =>
  trainingOf(spec, iteration).filter(({ role }) => role !== 'failure' || spec.pairs.failureAgent.enabled !== false);

type Method = Exclude<keyof CampaignSpec['training'], 'init'>;

type Work = { iteration: number; phase: 'train' | 'optimize'; jobs: number; methods: Method[]; tokens: number };

/** Returns the tokens to train on. A trajectory counts once per pass, and a pair as two. */
function workByPhase(spec: CampaignSpec, played: readonly number[], perRow: (method: Method) => number): Work[] {
  const recipe = recipes[spec.recipe];
  const { trainTasks } = spec.environment;
  const agents = spec.start === 'sft' ? recipe.agents.length : 0;
  const start: Work = {
    iteration: 0,
    phase: 'train',
    jobs: agents,
    methods: ['sft'],
    tokens: agents * trainTasks * passesOf(spec.training.sft, trainTasks) * perRow('sft'),
  };
  const phase = isReinforcement(recipe) ? 'optimize' : 'train';
  const later = played.map((attempts, i): Work => {
    const jobs = jobsOf(spec, i + 1);
    const tokens = jobs.reduce((sum, job) => sum + trajectoriesOf(spec, job, attempts) * perRow(job.method), 0);
    return { iteration: i + 1, phase, jobs: jobs.length, methods: jobs.map(({ method }) => method), tokens };
  });
  return [start, ...later].filter((work) => work.jobs > 0);
}

function trajectoriesOf(spec: CampaignSpec, { role, method, data }: RecipeJob, attempts: number): number {
  const settings = spec.training[method];
  if (!('batchSize' in settings)) return epochsOf(settings) * attempts;
  const { trainTasks } = spec.environment;
  const pairs = data.startsWith('pairs') ? Math.min(attempts / 2, pairLimit(spec, role)) : 0;
  const successes = data === 'expert-and-successes' ? attempts / 2 : 0;
  const experts = data === 'pairs' ? 0 : trainTasks;
  return passesOf(settings, pairs + successes + experts) * (2 * pairs + successes + experts);
}

/** Returns the maximum number of pairs of a role. */
function pairLimit({ pairs }: CampaignSpec, role: RecipeJob['role']): number {
  if (role === 'failure') return pairs.failureAgent.maxPairs ?? Infinity;
  const kinds = Object.values(pairs.target).filter(({ enabled }) => enabled !== false);
  return kinds.reduce((sum, { maxPairs }) => sum + (maxPairs ?? Infinity), 0);
}

/** Returns the sizes of a spec's attempts; null if the turn limits of its environment's trajectories are unknown. */
export function attemptsOf(
  { environment, policy, training }: CampaignSpec,
  lengths: MeasuredLengths | null,
): AttemptLengths | null {
  const { rows = null, turnLimits = null } = lengths ?? {};
  if (rows === null || turnLimits === null) return null;
  const limits = turnLimits.map((limit) => Math.min(limit, environment.maxTurns ?? Infinity));
  return attemptLengths(rows, limits, policy.source === 'scratch' ? training.init.maxPositions : Infinity);
}

/** Half of the trajectories of pairs and of reinforcement learning are taken as attempts that fail at their last turn. */
function tokensPerRow(spec: CampaignSpec, method: Method, lengths: MeasuredLengths | null): number {
  const solved = lengths?.mean ?? measuredTraining.tokensPerTrajectory;
  const failed = method === 'sft' || method === 'rft' ? null : attemptsOf(spec, lengths)?.failed;
  const mean = failed ? Math.round((solved + failed.row) / 2) : solved;
  return Math.min(mean, spec.training[method].maxLength ?? Infinity);
}

function costOf({ compute }: CampaignSpec, jobs: number, tokens: number, tokensPerS: number | null): TrainingAmounts {
  if (tokensPerS === null) {
    const free = gpusOf(compute) === 0 ? 0 : null; // CPU time is not charged
    return { tokens: Math.round(tokens), seconds: null, gpuSeconds: free, usd: free };
  }
  const seconds = tokens / tokensPerS + jobs * measuredTraining.secondsToStart;
  const gpuSeconds = seconds * gpusOf(compute);
  return {
    tokens: Math.round(tokens),
    seconds: Math.round(seconds),
    gpuSeconds: Math.round(gpuSeconds),
    usd: (gpuSeconds / 3600) * compute.pricePerGpuHour,
  };
}

function sumOf(phases: readonly TrainingAmounts[]): TrainingAmounts {
  const sum = (amount: 'seconds' | 'gpuSeconds' | 'usd'): number | null =>
    phases.reduce<number | null>(
      (total, phase) => (total === null || phase[amount] === null ? null : total + phase[amount]),
      0,
    );
  return {
    tokens: phases.reduce((total, { tokens }) => total + tokens, 0),
    seconds: sum('seconds'),
    gpuSeconds: sum('gpuSeconds'),
    usd: sum('usd'),
  };
}
