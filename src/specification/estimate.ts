import { playsAttempts, recipes } from '../domain/campaign/recipe';
import type { CampaignSpec } from './campaign-spec';
import { plannedSize } from './iteration-plan';
import { evaluationAttempts, evaluationSets } from './evaluation-settings';
import { betweenEnds, type AttemptLengths } from '../domain/training/attempt-lengths';
import { gpusOf } from './compute-settings';
import { estimateModels, type CallSpeeds, type ModelEstimate } from './estimate-models';
import { attemptsOf, estimateTraining, jobsOf, measuredTraining, passesOf } from './estimate-training';
import type { JobLength, MeasuredLengths, MeasuredSpeed, MeasuredSpeeds, TrainingEstimate } from './estimate-training';

export type Estimate = {
  attempts: number;
  /** Attempts that agents train on, without evaluations, expert trajectories and checks of candidates. */
  trainingAttempts: number;
  /** Prompt and completion tokens of the attempts, and of one attempt of a policy. */
  tokens: number;
  tokensPerAttempt: number;
  /** Sizes of attempts that succeed and of those that play until their last turn; null if no limit is known. */
  lengths: AttemptLengths | null;
  /** Attempts of policies: all but expert trajectories and checks of candidates. */
  policyAttempts: number;
  updates: number;
  /** Duration of the campaign; null if a speed is unknown. */
  seconds: number | null;
  /** Seconds at the highest and at the lowest speeds and lengths that are likely. */
  range: { low: number; high: number } | null;
  /** Basis of the attempts' speed, in one line. */
  attemptSpeed: string;
  training: TrainingEstimate;
  /** Calls of language models and their cost; null if none is configured. */
  models: ModelEstimate | null;
};

/**
 * Tokens that a job trains on in the time of one attempt at a short SQL task: the quickstart's policy plays 90 attempts a second
 * and trains on 14,300 tokens; SmolLM2-135M plays 0.375 and trains on 110 in float32 or 174 in bfloat16. Other tasks took an
 * imported model up to 2.25 times as long (100 entries of BFCL with prompts of 3,000 tokens, docs/log.md).
 */
const trainedPerAttempt = {
  scratch: { tokens: 160, spread: 2 },
  imported: { tokens: 370, spread: 3 },
  stored: { tokens: 370, spread: 3 },
  provider: { tokens: 370, spread: 3 },
};

/**
 * Tokens that a job of the embedded policy trains on in the time in which it reads or writes a token of an attempt: 0.9 on SQL
 * (160 for 180 tokens), 0.48 on textworld-express (11,400 for 23,700, both measured on two busy cores). Between them.
 */
const trainedPerToken = 0.66;
/** Actions of the SQL attempts on which `trainedPerAttempt` was measured. An imported model takes its time per action. */
const turnsOfSql = 2;

/** Measured on quickstart campaigns: duration of the phases that neither play nor train. */
const secondsPerIteration = 3;

type Speeds = MeasuredSpeeds & { calls?: CallSpeeds };

const unmeasured: Speeds = { training: null, attempts: null, unknown: 'no speed was measured' };

/**
 * Estimates the work and the cost of a campaign. Counts that the spec fixes are exact; costs are estimates.
 *
 * @param lengths lengths of the environment's trajectories; null if none was played
 * @param speeds  speeds of this machine
 */
export function estimate(
  spec: CampaignSpec,
  lengths: MeasuredLengths | null = null,
  speeds: Speeds = unmeasured,
): Estimate {
  const { attempts, updates, played, evaluated } = countWork(spec);
  const training = estimateTraining(spec, played, lengths, speeds);
  const sizes = attemptsOf(spec, lengths);
  const speed = attemptSpeed(spec, speeds, sizes);
  const trainingAttempts = played.reduce((total, count) => total + count, 0);
  const policyAttempts = trainingAttempts + (spec.iterations + 1) * evaluated;
  const ofSizes = sizes && betweenEnds(sizes, 'tokens').middle;
  const tokensPerAttempt = Math.round(ofSizes ?? lengths?.mean ?? measuredTraining.tokensPerTrajectory);
  const counted = sizes ? policyAttempts : attempts; // reference actions are played without a policy
  const models = estimateModels(spec, lengths, speeds.calls);
  const parallelJobs = Math.min(2, recipes[spec.recipe].agents.length); // two cores
  const parts = speed &&
    training.seconds !== null && [
      { seconds: counted / speed.rate, spread: speed.spread },
      { seconds: training.seconds / parallelJobs, spread: training.spread },
      { seconds: models?.seconds ?? 0, spread: models?.spread ?? 1 },
      { seconds: (spec.iterations + 1) * secondsPerIteration, spread: 1 },
    ];
  const secondsAt = (sign: -1 | 0 | 1): number | null =>
    parts ? Math.round(parts.reduce((sum, part) => sum + part.seconds * part.spread ** sign, 0)) : null;
  const [low, seconds, high] = [secondsAt(-1), secondsAt(0), secondsAt(1)];
  return {
    attempts,
    trainingAttempts,
    policyAttempts,
    tokens: counted * tokensPerAttempt,
    tokensPerAttempt,
    lengths: sizes,
    updates: Math.round(updates),
    seconds,
    range: low === null || high === null ? null : { low, high },
    attemptSpeed: speed
      ? `${Number(speed.rate.toPrecision(2))} attempts/s (${speed.basis})`
      : `speed unknown (${speeds.unknown})`,
    training,
    models,
  };
}

/** Attempts of an iteration at all evaluation sets, if its policy is promoted. */
const attemptsAtSets = (spec: CampaignSpec): number =>
  evaluationAttempts(spec) * evaluationSets(spec).reduce((total, { tasks }) => total + tasks, 0);

/** Counts attempts, updates, attempts at train tasks by iteration, and the attempts of one evaluation. */
function countWork(spec: CampaignSpec): { attempts: number; updates: number; played: number[]; evaluated: number } {
  const recipe = recipes[spec.recipe];
  const { trainTasks } = spec.environment;
  const evaluated = attemptsAtSets(spec);
  const { tasksPerIteration, tasksPerStep, stepsPerIteration } = spec.rollouts;
  const agents = recipe.agents.length;

  const isPlaying = playsAttempts(recipe);
  let attempts = trainTasks + evaluated;
  let updates = spec.start === 'sft' ? agents * updatesOf(trainTasks, spec.training.sft) : 0;
  const played: number[] = [];
  let pool = trainTasks;
  for (let iteration = 1; iteration <= spec.iterations; iteration++) {
    const growth = plannedSize(spec, iteration).candidates;
    const inSteps = (tasksPerStep ?? 0) * (stepsPerIteration ?? 0);
    const tasks = inSteps || Math.min(pool, tasksPerIteration ?? pool);
    const rollouts = isPlaying ? tasks * spec.rollouts.attempts * agents : 0;
    played.push(rollouts);
    attempts += rollouts + evaluated + growth;
    pool += growth;
    for (const { method, data } of jobsOf(spec, iteration)) {
      const settings = spec.training[method];
      updates +=
        'batchSize' in settings
          ? updatesOf(data === 'expert' ? trainTasks : rollouts / 2, settings)
          : (stepsPerIteration ?? 0) * ('miniBatches' in settings ? settings.epochs * settings.miniBatches : 1);
    }
  }
  return { attempts, updates, played, evaluated };
}

/** Returns the measured speed of attempts, or one that follows from the speed of training on a CPU and from their lengths. */
export function attemptSpeed(
  { policy: { source }, compute }: CampaignSpec,
  { attempts, training }: MeasuredSpeeds,
  lengths: AttemptLengths | null,
): MeasuredSpeed | null {
  if (attempts || !training || gpusOf(compute) > 0) return attempts;
  const { tokens, spread } = trainedPerAttempt[source];
  const basis = (trained: number): string =>
    `the time in which a job trains on ${Number(trained.toPrecision(2))} tokens`;
  if (lengths === null) return { rate: training.rate / tokens, spread, basis: basis(tokens) };
  const ends = betweenEnds(lengths, source === 'scratch' ? 'tokens' : 'turns');
  const trained = source === 'scratch' ? ends.middle * trainedPerToken : (ends.middle / turnsOfSql) * tokens;
  return { rate: training.rate / trained, spread: spread * (ends.high / ends.middle), basis: basis(trained) };
}

const updatesOf = (rows: number, length: JobLength): number =>
  length.updates ?? (rows * passesOf(length, rows)) / length.batchSize;
