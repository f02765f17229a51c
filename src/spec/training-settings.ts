import { z } from 'zod';

const count = z.number().int().min(1);

/** Settings shared by all training methods; the defaults differ by method. */
const shared = (defaults: { epochs: number; learningRate: number; schedule: 'cosine' | 'constant' }) => ({
  epochs: count.max(1000).default(defaults.epochs),
  /** Trajectories (sft) or pairs per update. */
  batchSize: count.max(4096).default(8),
  /** Maximum of the schedule. */
  learningRate: z.number().min(1e-12).max(1e6).default(defaults.learningRate),
  schedule: z.enum(['cosine', 'constant']).default(defaults.schedule),
  warmupFraction: z.number().min(0).max(1).default(0.05),
  weightDecay: z.number().min(0).max(10).default(0.01),
  maxGradNorm: z.number().min(1e-9).max(1e9).default(1),
  /** Tokens per row; longer rows are truncated and counted. */
  maxLength: count.min(8).max(131_072).default(512),
  /** Tokens per micro-batch with padding; changes an update only by rounding. */
  microBatchTokens: count.min(8).max(1e9).default(8192),
  /** Updates between checkpoints; a killed job repeats at most this number. */
  checkpointEvery: count.max(1e9).default(50),
});

const supervised = shared({ epochs: 14, learningRate: 3e-3, schedule: 'cosine' });

const preference = {
  ...shared({ epochs: 3, learningRate: 1e-4, schedule: 'cosine' }),
  /** Beta of DPO: strength of the constraint to the reference policy. */
  beta: z.number().min(1e-6).max(1e3).default(0.1),
  /** `eto`: the rejected side keeps at most ten messages more than the chosen one, as in ETO. */
  pairTruncation: z.enum(['none', 'eto']).default('none'),
};

/** One update per RL step on new rollouts (arXiv:2604.15840, eq. 1 and table 9). */
const reinforcement = (aggregation: 'group' | 'batch') => ({
  learningRate: z.number().min(1e-12).max(1e6).default(1e-6),
  weightDecay: z.number().min(0).max(10).default(0.01),
  maxGradNorm: z.number().min(1e-9).max(1e9).default(1),
  /** Tokens per row; longer rows are truncated and counted. */
  maxLength: count.min(8).max(131_072).default(512),
  /** The ratio is clipped to [1 - clipLow, 1 + clipHigh]. */
  clipLow: z.number().min(0).max(1).default(0.2),
  clipHigh: z.number().min(0).max(1e3).default(0.28),
  /** Weight of the KL divergence from the campaign's initial policy. */
  klCoefficient: z.number().min(0).max(1e3).default(1e-3),
  /** `group`: the token mean of eq. 1 within each group; `batch`: the mean over all tokens of the step. */
  aggregation: z.enum(['group', 'batch']).default(aggregation),
  /** Tokens per micro-batch with padding; changes an update only by rounding. */
  microBatchTokens: count.min(8).max(1e9).default(8192),
});

/**
 * Settings of the trainer by method, in camel case and with the trainer's ranges. Mistakes are found at the start of the
 * campaign, not hours later in a job.
 */
export const trainingSettingsSchema = z.strictObject({
  /** Shape of the `scratch` policy. */
  init: z
    .strictObject({
      vocabularySize: count.min(300).max(200_000).default(768),
      hiddenSize: count.min(8).max(8192).default(96),
      layers: count.max(128).default(3),
      heads: count.max(128).default(4),
      /** Must divide `heads`. */
      kvHeads: count.max(128).default(2),
      headDim: count.min(8).max(256).default(32),
      feedForwardSize: count.min(8).max(65_536).default(256),
      /** Maximum tokens per sequence; the embedded policy server's context (COEVOLVE_POLICY_CONTEXT) is also a limit. */
      maxPositions: count.min(64).max(131_072).default(512),
      initializerRange: z.number().min(1e-4).max(1).default(0.1),
    })
    .refine(({ heads, kvHeads }) => heads % kvHeads === 0, { path: ['kvHeads'], error: 'a divisor of heads' })
    .prefault({}),
  sft: z.strictObject(supervised).prefault({}),
  rft: z
    .strictObject({
      ...supervised,
      /** Minimum reward of an attempt that is used for training. */
      successReward: z.number().min(0).max(1).default(1),
    })
    .prefault({}),
  dpo: z.strictObject(preference).prefault({}),
  target: z.strictObject({ ...preference, sftReduction: z.enum(['mean', 'sum']).default('mean') }).prefault({}),
  grpo: z.strictObject(reinforcement('group')).prefault({}),
  ppo: z
    .strictObject({
      ...reinforcement('batch'),
      /** Discount per action token. */
      gamma: z.number().min(0).max(1).default(1),
      /** Lambda of generalised advantage estimation. */
      gaeLambda: z.number().min(0).max(1).default(0.95),
      advantages: z.enum(['normalized', 'plain']).default('normalized'),
      valueCoefficient: z.number().min(0).max(1e3).default(0.5),
      /** Learning rate of the value head. */
      valueLearningRate: z.number().min(1e-12).max(1e6).default(1e-3),
    })
    .prefault({}),
});
