import { z } from 'zod';

const count = z.number().int().min(1);

/** Settings of all methods. */
const common = {
  weightDecay: z.number().min(0).max(10).default(0.01).describe('Weight decay of AdamW.'),
  maxGradNorm: z.number().min(1e-9).max(1e9).default(1).describe('Norm to which gradients are clipped.'),
  maxLength: count
    .min(8)
    .max(131_072)
    .nullable()
    .default(null)
    .describe('Tokens per row; null: the positions of the policy. Longer rows are truncated and counted.'),
  thinking: z
    .enum(['train', 'mask'])
    .default('train')
    .describe('`mask`: the thinking of an action stays in its row and has no loss.'),
  microBatchTokens: count
    .min(8)
    .max(1e9)
    .default(8192)
    .describe('Tokens per micro-batch with padding; changes an update only by rounding.'),
};

/** Settings shared by all methods on datasets; the defaults differ by method. */
const shared = (defaults: { epochs: number; learningRate: number; schedule: 'cosine' | 'constant' }) => ({
  epochs: count
    .max(1000)
    .nullable()
    .default(defaults.epochs)
    .describe('Passes over the data; imported models: 3; null: `updates` is set.'),
  updates: count
    .max(1_000_000)
    .nullable()
    .default(null)
    .describe('Updates of a job whatever the number of rows, in as many passes as they need; null: `epochs` counts.'),
  batchSize: count.max(4096).default(8).describe('Trajectories (sft) or pairs per update.'),
  learningRate: z
    .number()
    .min(1e-12)
    .max(1e6)
    .default(defaults.learningRate)
    .describe("Maximum learning rate of the schedule; imported models: TRL's, ten times as much with an adapter."),
  schedule: z.enum(['cosine', 'constant']).default(defaults.schedule).describe('Learning rate after the warm-up.'),
  warmupFraction: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe('Share of the updates in which the learning rate rises from 0.'),
  ...common,
  checkpointEvery: count
    .max(1e9)
    .default(50)
    .describe('Updates between checkpoints; a killed job repeats at most this number.'),
});

const supervised = {
  ...shared({ epochs: 14, learningRate: 3e-3, schedule: 'cosine' }),
  stopAtLoss: z
    .number()
    .min(0)
    .max(1e3)
    .nullable()
    .default(null)
    .describe('Ends a job once the mean loss of its last 20 updates, in nats, is at most this; null: never.'),
};

const preference = {
  ...shared({ epochs: 3, learningRate: 1e-4, schedule: 'cosine' }),
  beta: z
    .number()
    .min(1e-6)
    .max(1e3)
    .default(0.1)
    .describe('Beta of DPO: strength of the constraint to the reference policy.'),
  pairTruncation: z
    .enum(['none', 'eto'])
    .default('none')
    .describe('`eto`: the rejected side keeps at most ten messages more than the chosen one, as in ETO.'),
};

/** Updates on the rollouts of an RL step (arXiv:2604.15840, eq. 1 and table 9). */
const reinforcement = (aggregation: 'group' | 'batch') => ({
  epochs: count
    .max(100)
    .default(1)
    .describe('Passes over the rollouts of a step; with one update per step every ratio is 1 and nothing is clipped.'),
  miniBatches: count
    .max(1024)
    .default(1)
    .describe('Updates per pass, each over a share of the tasks of the step, at most one per task.'),
  learningRate: z.number().min(1e-12).max(1e6).default(1e-6).describe('Learning rate, constant over the job.'),
  ...common,
  clipLow: z
    .number()
    .min(0)
    .max(1)
    .default(0.2)
    .describe('The ratio of probabilities is clipped from below to 1 - clipLow.'),
  clipHigh: z
    .number()
    .min(0)
    .max(1e3)
    .default(0.28)
    .describe('The ratio of probabilities is clipped from above to 1 + clipHigh.'),
  importanceTruncation: z
    .number()
    .min(0)
    .max(1e6)
    .default(0)
    .describe(
      "Maximum weight of a token for a server whose log-probabilities differ from the trainer's, such as vLLM in bfloat16; 0: no weights.",
    ),
  klCoefficient: z
    .number()
    .min(0)
    .max(1e3)
    .default(1e-3)
    .describe("Weight of the KL divergence from the campaign's initial policy."),
  aggregation: z
    .enum(['group', 'attempt', 'batch'])
    .default(aggregation)
    .describe(
      "Mean of the loss: over a group's tokens and then over groups, over an attempt's tokens and then over attempts, or over all tokens of the step (batch).",
    ),
});

/** Settings that stay those of the method in every iteration: they determine the data, on which estimates are based. */
const constant = ['epochs', 'updates', 'stopAtLoss', 'miniBatches', 'batchSize', 'maxLength'] as const;

type Setting = z.ZodDefault<z.ZodType>;
type Scheduled<Settings> = {
  [Key in Exclude<keyof Settings, (typeof constant)[number]>]: Settings[Key] extends z.ZodDefault<infer Inner>
    ? z.ZodOptional<Inner>
    : never;
};

/** Adds `byIteration` to the settings of a method that trains in iterations after the start. */
function withSchedule<Settings extends Record<string, Setting>>(settings: Settings) {
  const changing = Object.entries(settings)
    .filter(([name]) => !(constant as readonly string[]).includes(name))
    .map(([name, setting]) => [
      name,
      setting
        .removeDefault()
        .optional()
        .describe(setting.description ?? ''),
    ]);
  return {
    ...settings,
    byIteration: z
      .array(z.strictObject(Object.fromEntries(changing) as Scheduled<Settings>))
      .max(1000)
      .default([])
      .describe('Settings that differ by iteration, from iteration 1; the last entry holds for all later iterations.'),
  };
}

/**
 * Settings of the trainer by method, in camel case and with the trainer's ranges. Mistakes are found at the start of the
 * campaign, not hours later in a job.
 */
export const trainingSettingsSchema = z.strictObject({
  init: z
    .strictObject({
      vocabularySize: count.min(300).max(200_000).default(768).describe('Maximum entries of the byte-level BPE.'),
      hiddenSize: count.min(8).max(8192).default(96).describe('Width of the hidden states.'),
      layers: count.max(128).default(3).describe('Decoder layers.'),
      heads: count.max(128).default(4).describe('Query heads per layer.'),
      kvHeads: count.max(128).default(2).describe('Key-value heads per layer; must divide `heads`.'),
      headDim: count.min(8).max(256).default(32).describe('Width of a head.'),
      feedForwardSize: count.min(8).max(65_536).default(256).describe('Width of the feed-forward layers.'),
      maxPositions: count
        .min(64)
        .max(131_072)
        .default(512)
        .describe(
          'Maximum tokens per sequence; COEVOLVE_POLICY_CONTEXT of the embedded policy server is also a limit.',
        ),
      initializerRange: z.number().min(1e-4).max(1).default(0.1).describe('Standard deviation of the initial weights.'),
    })
    .refine(({ heads, kvHeads }) => heads % kvHeads === 0, { path: ['kvHeads'], error: 'a divisor of heads' })
    .prefault({})
    .describe('Shape of the `scratch` policy.'),
  sft: z.strictObject(supervised).prefault({}).describe('Supervised start on reference trajectories.'),
  rft: z
    .strictObject({
      ...withSchedule(supervised),
      successReward: z
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe('Minimum reward of an attempt that is used for training.'),
    })
    .prefault({})
    .describe('Recipe `rft`: fine-tuning on successful attempts.'),
  dpo: z.strictObject(withSchedule(preference)).prefault({}).describe('DPO of recipe `eto` and of every second agent.'),
  target: z
    .strictObject({
      ...withSchedule(preference),
      sftReduction: z
        .enum(['mean', 'sum'])
        .default('mean')
        .describe(
          'Reduction of the likelihood of the chosen side over its action tokens (arXiv:2511.22254, equation 9).',
        ),
    })
    .prefault({})
    .describe('Training of the target in recipes with two agents.'),
  grpo: z
    .strictObject(withSchedule(reinforcement('group')))
    .prefault({})
    .describe('Reinforcement learning by GRPO.'),
  ppo: z
    .strictObject({
      ...withSchedule(reinforcement('batch')),
      gamma: z.number().min(0).max(1).default(1).describe('Discount per action token.'),
      gaeLambda: z.number().min(0).max(1).default(0.95).describe('Lambda of generalised advantage estimation.'),
      advantages: z
        .enum(['normalized', 'plain'])
        .default('normalized')
        .describe('Advantages: normalized over the action tokens of a step, or unchanged.'),
      valueCoefficient: z.number().min(0).max(1e3).default(0.5).describe('Weight of the value loss.'),
      valueLearningRate: z
        .number()
        .min(1e-12)
        .max(1e6)
        .default(1e-3)
        .describe('Learning rate of the value head, which starts at 0.'),
    })
    .prefault({})
    .describe('Reinforcement learning by PPO.'),
});

/** Returns one line per method that has both a number of passes and one of updates, or neither. */
export function unclearLengths(training: z.output<typeof trainingSettingsSchema>): string[] {
  return Object.entries(training).flatMap(([method, settings]) => {
    if (!('updates' in settings)) return [];
    const { epochs, updates } = settings;
    if ((epochs === null) !== (updates === null)) return [];
    return updates === null
      ? [`training.${method}.epochs: found null, expected a number: training.${method}.updates is null`]
      : [
          `training.${method}.updates: found ${updates}, expected null, because training.${method}.epochs is ${epochs}: set one of both to null`,
        ];
  });
}
