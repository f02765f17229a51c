import { z } from 'zod';

const count = z.number().int().min(1);

/** Settings that every training method has; the defaults of each method differ. */
const shared = (defaults: { epochs: number; learningRate: number; schedule: 'cosine' | 'constant' }) => ({
  epochs: count.max(1000).default(defaults.epochs),
  /** Trajectories (sft) or pairs per update. */
  batchSize: count.max(4096).default(8),
  /** Peak of the schedule. */
  learningRate: z.number().min(1e-12).max(1e6).default(defaults.learningRate),
  schedule: z.enum(['cosine', 'constant']).default(defaults.schedule),
  warmupFraction: z.number().min(0).max(1).default(0.05),
  weightDecay: z.number().min(0).max(10).default(0.01),
  maxGradNorm: z.number().min(1e-9).max(1e9).default(1),
  /** Tokens per row; longer rows are cut and counted. */
  maxLength: count.min(8).max(131_072).default(512),
  /** Tokens in memory at once, padding included: an update depends on it by rounding alone. */
  microBatchTokens: count.min(8).max(1e9).default(8192),
  /** Updates between checkpoints: what a killed job repeats at most. */
  checkpointEvery: count.max(1e9).default(50),
});

const supervised = shared({ epochs: 14, learningRate: 3e-3, schedule: 'cosine' });

const preference = {
  ...shared({ epochs: 3, learningRate: 1e-4, schedule: 'cosine' }),
  /** Strength of the pull to the reference policy. */
  beta: z.number().min(1e-6).max(1e3).default(0.1),
  /** `eto`: the rejected side keeps as many messages as the chosen one has and ten more, as ETO's pairs do. */
  pairTruncation: z.enum(['none', 'eto']).default('none'),
};

/** One update per step over fresh rollouts (arXiv:2604.15840, eq. 1 and table 9). */
const reinforcement = (aggregation: 'group' | 'batch') => ({
  learningRate: z.number().min(1e-12).max(1e6).default(1e-6),
  weightDecay: z.number().min(0).max(10).default(0.01),
  maxGradNorm: z.number().min(1e-9).max(1e9).default(1),
  /** Tokens per row; longer rows are cut and counted. */
  maxLength: count.min(8).max(131_072).default(512),
  /** The ratio is clipped to [1 - clipLow, 1 + clipHigh]. */
  clipLow: z.number().min(0).max(1).default(0.2),
  clipHigh: z.number().min(0).max(1e3).default(0.28),
  /** Weight of the divergence from the policy that the campaign started from. */
  klCoefficient: z.number().min(0).max(1e3).default(1e-3),
  /** `group`: the token mean of eq. 1 within each group; `batch`: over all tokens of the step. */
  aggregation: z.enum(['group', 'batch']).default(aggregation),
  /** Tokens in memory at once, padding included: an update depends on it by rounding alone. */
  microBatchTokens: count.min(8).max(1e9).default(8192),
});

/**
 * What the trainer is told, method by method: its own settings, in this language's spelling and within its ranges, so
 * that a mistake is refused at the start and not by a job hours later.
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
      /** Tokens; the embedded policy server's context, which is its upper limit too. */
      maxPositions: count.min(64).max(131_072).default(512),
      initializerRange: z.number().min(1e-4).max(1).default(0.1),
    })
    .refine(({ heads, kvHeads }) => heads % kvHeads === 0, { path: ['kvHeads'], error: 'a divisor of heads' })
    .prefault({}),
  sft: z.strictObject(supervised).prefault({}),
  rft: z
    .strictObject({
      ...supervised,
      /** Least reward of an attempt that is learnt from. */
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
      advantages: z.enum(['normalised', 'plain']).default('normalised'),
      valueCoefficient: z.number().min(0).max(1e3).default(0.5),
      /** The value head's own rate. */
      valueLearningRate: z.number().min(1e-12).max(1e6).default(1e-3),
    })
    .prefault({}),
});
