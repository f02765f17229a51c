import { isOnlyEvaluated } from '../domain/campaign/policy-source';
import { z } from 'zod';
import { defaultPromotionSettings } from '../domain/evaluation/promotion';
import {
  growsPool,
  isReinforcement,
  playsAttempts,
  recipeNames,
  recipes,
  synthesizes,
  type Recipe,
} from '../domain/campaign/recipe';
import type { Phase } from '../domain/campaign/phases';
import { backendNames } from '../training/backends';
import { computeSettingsSchema, policySettingsSchema } from './compute-settings';
import { actionForms } from '../domain/rollout/action-form';
import { evaluationSettingsSchema } from './evaluation-settings';
import { budgetSettingsSchema, judgeSettingsSchema, modelSettingsSchema } from './model-settings';
import { pairSettingsSchema } from './pair-settings';
import { signalSettingsSchema } from './signal-settings';
import { admissionSettingsSchema, poolSettingsSchema, synthesisSettingsSchema } from './synthesis-settings';
import { trainingSettingsSchema } from './training-settings';
import { keyRules, type Deciders, type KeyRule } from './key-rules';
import { choice, count, flag, integer, number, unit } from './key-types';

const withoutPhase =
  (phase: Phase) =>
  ({ recipe }: Deciders): boolean =>
    !(recipes[recipe] as Recipe).phases.includes(phase);

const withoutAttempts = ({ recipe }: Deciders): boolean => !playsAttempts(recipes[recipe]);

const stepsRule = (key: keyof Deciders['rollouts']): KeyRule => ({
  expects: ({ recipe, rollouts }) =>
    isReinforcement(recipes[recipe])
      ? rollouts[key] === null && `a number: ${recipe} trains in RL steps`
      : rollouts[key] !== null && `nothing: ${recipe} has no RL steps`,
});

/**
 * A campaign. Unknown keys are errors. `name`, `seed`, `environment.name` and `recipe` are required; all other keys have
 * defaults, and the resolved spec with all keys is stored with the campaign.
 */
export const campaignSpecSchema = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[a-z0-9][a-z0-9-]{0,62}$/,
        'lower-case letters, digits and hyphens, at most 63, not starting with a hyphen',
      )
      .describe('Name of the campaign in every list, id and path: lower-case letters, digits and hyphens.'),
    seed: integer(0, 2 ** 31 - 1).describe('Root of the seed tree: every sampled value derives its seed from it.'),
    replica: integer(0, 1000)
      .default(0)
      .describe(
        'Number of a repetition with the same tasks and start, and other seeds after the start. 0: the original.',
      )
      .register(keyRules, {
        unreadIf: ({ replica }) => replica === 0,
        idleIf: ({ iterations }) => iterations === 0 && 'nothing is sampled after the start',
      }),
    weight: z
      .number()
      .positive()
      .max(1000)
      .default(1)
      .describe('Share of the workers under contention, relative to the weights of the other campaigns.'),
    environment: z
      .strictObject({
        name: z.string().min(1).describe('Name of an environment of `coevolve env list`.'),
        options: z
          .record(z.string(), z.unknown())
          .default({})
          .describe('Options of the environment, which rejects unknown ones; secrets are rejected.'),
        trainTasks: integer(1, 20_000).default(600).describe('Seed tasks of the pool.'),
        heldOutTasks: integer(1, 5_000)
          .default(200)
          .describe('Tasks for evaluation only, divided into the sets dev and test.'),
        /** With null an episode may have another limit per task, and it has the environment's own score at the limit. */
        maxTurns: integer(1, 1_000)
          .nullable()
          .default(null)
          .describe(
            "Maximum actions per attempt; an attempt that reaches it before the end has failed. null: the environment's own limit.",
          ),
        form: choice(actionForms)
          .default('plain')
          .describe("Form of the reference actions: the bare action, or the ReAct form of ETO's conversations."),
        experts: z
          .string()
          .regex(/^[0-9a-f]{64}$/, 'the hash that `coevolve experts import` prints')
          .nullable()
          .default(null)
          .describe(
            "Hash printed by `coevolve experts import`; for their tasks these experts replace the environment's own.",
          ),
        failedExperts: choice(['drop', 'keep'])
          .optional()
          .describe('Experts whose replay scores 0: `keep` trains on them, too; without this key they are left out.'),
      })
      .describe(
        'Environment to play: one of `coevolve env list`, with its options (docs/environments.md) and numbers of tasks.',
      ),
    recipe: choice(recipeNames as [(typeof recipeNames)[number], ...(typeof recipeNames)[number][]]).describe(
      'Training method: agents, phases and jobs of an iteration.',
    ),
    iterations: integer(0, 1000)
      .optional()
      .describe('Iterations after the supervised start; the default depends on the recipe.')
      .register(keyRules, {
        expects: ({ policy, iterations }) =>
          isOnlyEvaluated(policy) && iterations > 0 && `0: a ${policy.source} policy is only evaluated`,
      }),
    rollouts: z
      .strictObject({
        attempts: integer(1, 64)
          .default(4)
          .describe('Attempts per task and agent in an iteration or an RL step (K).')
          .register(keyRules, { unreadIf: withoutAttempts }),
        temperature: number(0, 5)
          .default(0.9)
          .describe('Sampling temperature of training attempts.')
          .register(keyRules, { unreadIf: withoutAttempts }),
        maxTokens: integer(1, 4096).default(64).describe('Maximum tokens per action, also in evaluations.'),
        maxMinutes: number(0.01, 100)
          .default(15)
          .describe('Minutes after which an attempt ends without a score, also in evaluations.'),
        thinking: choice(['keep', 'drop'])
          .default('keep')
          .describe("`drop`: prompts lack the thinking of earlier actions, as with Qwen3's own template."),
        tasksPerIteration: count
          .nullable()
          .default(null)
          .describe('Maximum tasks per iteration, drawn from the pool; null plays the whole pool.')
          .register(keyRules, {
            unreadIf: withoutAttempts,
            idleIf: ({ recipe }) =>
              isReinforcement(recipes[recipe]) && `${recipe} draws rollouts.tasksPerStep tasks in each step`,
          }),
        tasksPerStep: integer(1, 4096)
          .nullable()
          .default(null)
          .describe('Tasks per RL step, each played K times; null for recipes without RL.')
          .register(keyRules, stepsRule('tasksPerStep')),
        stepsPerIteration: integer(1, 1000)
          .nullable()
          .default(null)
          .describe('RL steps between two rounds of synthesis (F); null for recipes without RL.')
          .register(keyRules, stepsRule('stepsPerIteration')),
      })
      .prefault({})
      .describe('Attempts of the agents: number, temperature, tokens per action.'),
    signals: signalSettingsSchema
      .prefault({})
      .describe('Feedback signals that flag tasks.')
      .register(keyRules, { unreadIf: withoutPhase('detect') }),
    llm: modelSettingsSchema
      .nullable()
      .default(null)
      .describe("Language models; null: the environment's own generator synthesizes tasks, and there is no judge.")
      .register(keyRules, {
        idleIf: (spec) =>
          spec.policy.source !== 'provider' && !synthesizes(spec) && `${spec.recipe} synthesizes no tasks`,
      }),
    budget: budgetSettingsSchema
      .prefault({})
      .describe('Limits on the spending; at a limit the campaign parks until `coevolve budget raise`.'),
    synthesis: synthesisSettingsSchema
      .prefault({})
      .describe('New tasks from the flagged ones.')
      .register(keyRules, {
        unreadIf: ({ recipe, synthesis }) => !growsPool(recipes[recipe]) && synthesis.initialTasks === null,
      }),
    admission: admissionSettingsSchema
      .prefault({})
      .describe('Checks of new tasks: duplicates, leaks, diversity.')
      .register(keyRules, { unreadIf: (spec) => !synthesizes(spec) }),
    judge: judgeSettingsSchema
      .prefault({})
      .describe('Calibration of the judge.')
      .register(keyRules, { unreadIf: ({ llm }) => llm === null }),
    pool: poolSettingsSchema
      .prefault({})
      .describe('How tasks are drawn and retired.')
      .register(keyRules, { unreadIf: ({ iterations }) => iterations === 0 }),
    pairs: pairSettingsSchema
      .prefault({})
      .describe('Preference pairs.')
      .register(keyRules, { unreadIf: withoutPhase('pair') }),
    policy: policySettingsSchema
      .prefault({})
      .describe('The model to train: from scratch, or one of `coevolve model list`.'),
    start: choice(['sft', 'base'])
      .default('sft')
      .describe(
        'First policies of the agents: fine-tuned on reference trajectories (sft), or the unchanged model (base).',
      )
      .register(keyRules, {
        expects: ({ start, policy: { source } }) =>
          (source === 'scratch' && start === 'base' && 'sft: a policy from scratch is untrained') ||
          (isOnlyEvaluated({ source }) && start === 'sft' && `base: a ${source} policy is only evaluated`),
      }),
    compute: computeSettingsSchema
      .prefault({})
      .describe(`Where training runs: ${backendNames.join(' or ')}, cpu or cuda.`),
    training: trainingSettingsSchema.prefault({}).describe('Settings of the training methods.'),
    evaluation: evaluationSettingsSchema.prefault({}).describe('Evaluation on held-out tasks.'),
    promotion: z
      .strictObject({
        rule: choice(['always', 'not-worse', 'significantly-better'])
          .default(defaultPromotionSettings.rule)
          .describe('When a trained target replaces the active one.'),
        tolerance: unit
          .default(defaultPromotionSettings.tolerance)
          .describe('Maximum loss of mean reward under `not-worse`.'),
        confidence: number(0.5, 0.999)
          .default(defaultPromotionSettings.confidence)
          .describe('Level of the bootstrap interval; `significantly-better` requires a lower end above 0.'),
        resamples: integer(1, 100_000)
          .default(defaultPromotionSettings.resamples)
          .describe('Resamples of the bootstrap.'),
        approval: flag.default(false).describe('Whether an operator approves promotions, by `coevolve approve`.'),
      })
      .prefault({})
      .describe('When a trained policy becomes the active one.')
      .register(keyRules, { unreadIf: ({ iterations }) => iterations === 0 }),
  })
  .refine(({ recipe, iterations = 0 }) => iterations === 0 || recipes[recipe].phases.length > 0, {
    path: ['iterations'],
    error: '0, because this recipe is the supervised start alone',
  });

/** Spec as written by its author. */
export type CampaignSpecInput = z.input<typeof campaignSpecSchema>;

/** Spec with all defaults. */
export type CampaignSpec = z.output<typeof campaignSpecSchema> & { iterations: number };
