import { z } from 'zod';
import { recipes, type RecipeJob } from '../domain/campaign/recipe';
import { keyRules, type KeyRule } from './key-rules';
import { trainerKeys, unit } from './key-types';

/** Settings of all methods. */
const common = {
  weightDecay: 'Weight decay of AdamW.',
  maxGradNorm: 'Norm to which gradients are clipped.',
  maxLength: 'Tokens per row; null: the positions of the policy. Longer rows are truncated and counted.',
  thinking: '`mask`: the thinking of an action stays in its row and has no loss.',
  microBatchTokens: 'Tokens per micro-batch with padding; changes an update only by rounding.',
};

/** Without a value a job of release 0.1.0 has no bound, so the default is the spec's and not the trainer's. */
const bounded = {
  maxLostActions: unit
    .default(0.1)
    .describe('Maximum share of the actions of a job that `maxLength` may cut off; above it the job fails.'),
};

/** Settings of all methods on datasets. */
const shared = {
  epochs: 'Passes over the data; imported models: 3; null: `updates` is set.',
  updates: 'Updates of a job whatever the number of rows, in as many passes as they need; null: `epochs` counts.',
  batchSize: 'Trajectories (sft) or pairs per update.',
  learningRate: "Maximum learning rate of the schedule; imported models: TRL's, ten times as much with an adapter.",
  schedule: 'Learning rate after the warm-up.',
  warmupFraction: 'Share of the updates in which the learning rate rises from 0.',
  ...common,
  checkpointEvery: 'Updates between checkpoints; a killed job repeats at most this number.',
};

const supervised = {
  ...shared,
  stopAtLoss: 'Ends a job once the mean loss of its last 20 updates, in nats, is at most this; null: never.',
};

const preference = {
  ...shared,
  beta: 'Beta of DPO: strength of the constraint to the reference policy.',
  pairTruncation: '`eto`: the rejected side keeps at most ten messages more than the chosen one, as in ETO.',
};

/** Updates on the rollouts of an RL step (arXiv:2604.15840, eq. 1 and table 9). */
const reinforcement = {
  epochs: 'Passes over the rollouts of a step; with one update per step every ratio is 1 and nothing is clipped.',
  miniBatches: 'Updates per pass, each over a share of the tasks of the step, at most one per task.',
  learningRate: 'Learning rate, constant over the job.',
  ...common,
  clipLow: 'The ratio of probabilities is clipped from below to 1 - clipLow.',
  clipHigh: 'The ratio of probabilities is clipped from above to 1 + clipHigh.',
  importanceTruncation:
    "Maximum weight of a token for a server whose log-probabilities differ from the trainer's, such as vLLM in bfloat16; 0: no weights.",
  klCoefficient: "Weight of the KL divergence from the campaign's initial policy.",
  aggregation:
    "Mean of the loss: over a group's tokens and then over groups, over an attempt's tokens and then over attempts, or over all tokens of the step (batch).",
};

/** Shape of a policy from scratch. */
const shape = {
  vocabularySize: 'Maximum entries of the byte-level BPE.',
  hiddenSize: 'Width of the hidden states.',
  layers: 'Decoder layers.',
  heads: 'Query heads per layer.',
  kvHeads: 'Key-value heads per layer; must divide `heads`.',
  headDim: 'Width of a head.',
  feedForwardSize: 'Width of the feed-forward layers.',
  maxPositions: 'Maximum tokens per sequence; COEVOLVE_POLICY_CONTEXT of the embedded policy server is also a limit.',
  initializerRange: 'Standard deviation of the initial weights.',
};

/** Settings that stay the same in every iteration: they determine the data, on which estimates are based. */
const constant = [
  'epochs',
  'updates',
  'stopAtLoss',
  'miniBatches',
  'batchSize',
  'maxLength',
  'maxLostActions',
] as const;

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

/** A method trains at the start or in the jobs of the recipe. */
const unlessTrained = (method: RecipeJob['method']): KeyRule => ({
  unreadIf: ({ recipe, start }) => method !== start && !recipes[recipe].training.some((job) => job.method === method),
});

/** Settings of the trainer by method. Mistakes are found at the start of the campaign, not hours later in a job. */
export const trainingSettingsSchema = z.strictObject({
  init: z
    .strictObject(trainerKeys('init', shape))
    .refine(({ heads, kvHeads }) => heads % kvHeads === 0, { path: ['kvHeads'], error: 'a divisor of heads' })
    .prefault({})
    .describe('Shape of the `scratch` policy.')
    .register(keyRules, { unreadIf: ({ policy }) => policy.source !== 'scratch' }),
  sft: z
    .strictObject({ ...trainerKeys('sft', supervised), ...bounded })
    .prefault({})
    .describe('Supervised start on reference trajectories.')
    .register(keyRules, unlessTrained('sft')),
  rft: z
    .strictObject({
      ...withSchedule({ ...trainerKeys('rft', supervised), ...bounded }),
      ...trainerKeys('rft', { successReward: 'Minimum reward of an attempt that is used for training.' }),
    })
    .prefault({})
    .describe('Recipe `rft`: fine-tuning on successful attempts.')
    .register(keyRules, unlessTrained('rft')),
  dpo: z
    .strictObject(withSchedule({ ...trainerKeys('dpo', preference), ...bounded }))
    .prefault({})
    .describe('DPO of recipe `eto` and of every second agent.')
    .register(keyRules, unlessTrained('dpo')),
  target: z
    .strictObject({
      ...withSchedule({ ...trainerKeys('target', preference), ...bounded }),
      ...trainerKeys('target', {
        sftReduction:
          'Reduction of the likelihood of the chosen side over its action tokens (arXiv:2511.22254, equation 9).',
      }),
    })
    .prefault({})
    .describe('Training of the target in recipes with two agents.')
    .register(keyRules, unlessTrained('target')),
  grpo: z
    .strictObject(withSchedule({ ...trainerKeys('grpo', reinforcement), ...bounded }))
    .prefault({})
    .describe('Reinforcement learning by GRPO.')
    .register(keyRules, unlessTrained('grpo')),
  ppo: z
    .strictObject({
      ...withSchedule({ ...trainerKeys('ppo', reinforcement), ...bounded }),
      ...trainerKeys('ppo', {
        gamma: 'Discount per action token.',
        gaeLambda: 'Lambda of generalised advantage estimation.',
        advantages: 'Advantages: normalized over the action tokens of a step, or unchanged.',
        valueCoefficient: 'Weight of the value loss.',
        valueLearningRate: 'Learning rate of the value head, which starts at 0.',
      }),
    })
    .prefault({})
    .describe('Reinforcement learning by PPO.')
    .register(keyRules, unlessTrained('ppo')),
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

/** Returns one line per method whose `byIteration` has more entries than the campaign has iterations. */
export const longSchedules = (training: z.output<typeof trainingSettingsSchema>, iterations: number): string[] =>
  Object.entries(training).flatMap(([method, settings]) =>
    'byIteration' in settings && settings.byIteration.length > iterations
      ? [
          `training.${method}.byIteration: found ${settings.byIteration.length} entries, expected at most ${iterations}, the value of iterations`,
        ]
      : [],
  );

/** Returns one line per method whose rows would be longer than a policy from scratch can read. */
export const uselessLengths = (
  { source }: { source: string },
  { init, ...methods }: z.output<typeof trainingSettingsSchema>,
): string[] =>
  source === 'scratch'
    ? Object.entries(methods).flatMap(([method, { maxLength }]) =>
        maxLength !== null && maxLength > init.maxPositions
          ? [
              `training.${method}.maxLength: found ${maxLength}, expected at most ${init.maxPositions}, the value of training.init.maxPositions; raise that to ${maxLength}, or set null`,
            ]
          : [],
      )
    : [];
