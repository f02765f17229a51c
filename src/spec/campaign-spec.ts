import { z } from 'zod';
import { patternExtractors } from '../domain/signals/action-pattern';
import { defaultFeedbackSettings } from '../domain/signals/detect-signals';
import { defaultPromotionSettings } from '../domain/evaluation/promotion';
import { recipeNames, recipes } from '../domain/campaign/recipe';
import { computeSettingsSchema, policySettingsSchema } from './compute-settings';
import { actionForms } from '../domain/rollout/action-form';
import { modelSettingsSchema } from './model-settings';
import { pairSettingsSchema } from './pair-settings';
import {
  admissionSettingsSchema,
  budgetSettingsSchema,
  judgeSettingsSchema,
  poolSettingsSchema,
  synthesisSettingsSchema,
} from './synthesis-settings';
import { trainingSettingsSchema } from './training-settings';

const { forgetting, boundary, rare } = defaultFeedbackSettings;

const unit = z.number().min(0).max(1);
const count = z.number().int().min(1);
const whole = z.number().int().min(0);

/** The feedback signals of arXiv:2604.15840, section 3.1. Every choice that the paper leaves open is a setting. */
const signalsSchema = z.strictObject({
  forgetting: z
    .strictObject({
      enabled: z.boolean().default(forgetting.enabled),
      window: count.default(forgetting.window),
      score: z.enum(['rollout', 'mean', 'max']).default(forgetting.score),
      history: z.enum(['before-current-iteration', 'running']).default(forgetting.history),
      scope: z.enum(['task', 'task-type']).default(forgetting.scope),
      threshold: unit.default(forgetting.threshold),
    })
    .prefault({}),
  boundary: z
    .strictObject({ enabled: z.boolean().default(boundary.enabled), threshold: unit.default(boundary.threshold) })
    .prefault({}),
  rare: z
    .strictObject({
      enabled: z.boolean().default(rare.enabled),
      thetaPercent: z.number().positive().max(100).default(rare.thetaPercent),
      minTotal: count.default(rare.minTotal),
      minCount: count.default(rare.minCount),
      pattern: z.enum(patternExtractors).default(rare.pattern),
      countUnit: z.enum(['patterns', 'trajectories']).default(rare.countUnit),
    })
    .prefault({}),
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
      ),
    /** Root of the seed tree: every sampled value derives its seed from it. */
    seed: whole.max(2 ** 31 - 1),
    /** Share of the workers under contention, relative to the weights of the other campaigns. */
    weight: z.number().positive().max(1000).default(1),
    environment: z.strictObject({
      name: z.string().min(1),
      /** Passed to the environment's task source, which defines the options. */
      options: z.record(z.string(), z.unknown()).default({}),
      trainTasks: count.max(20_000).default(600),
      heldOutTasks: count.max(5_000).default(200),
      /**
       * Maximum number of actions per attempt; an attempt that reaches it before the environment ends the episode has
       * failed. null: the environment's own limit, which may differ between tasks, with the environment's own score.
       */
      maxTurns: count.max(1_000).nullable().default(null),
      /** Format of the expert actions: the bare action, or the ReAct form of ETO's conversations. */
      form: z.enum(actionForms).default('plain'),
      /** Hash printed by `coevolve experts import`; for their tasks these experts replace the environment's own. */
      experts: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'the hash that `coevolve experts import` prints')
        .nullable()
        .default(null),
    }),
    recipe: z.enum(recipeNames as [(typeof recipeNames)[number], ...(typeof recipeNames)[number][]]),
    /** Iterations after the supervised start; the default depends on the recipe. */
    iterations: whole.max(1000).optional(),
    rollouts: z
      .strictObject({
        /** K: attempts per task, policy and iteration. */
        attempts: count.max(64).default(4),
        temperature: z.number().min(0).max(5).default(0.9),
        maxTokens: count.max(4096).default(64),
        /** Maximum number of tasks per iteration, drawn from the pool; null plays the whole pool. */
        tasksPerIteration: count.nullable().default(null),
        /** Tasks per RL step, each played K times; null for recipes without RL. */
        tasksPerStep: count.max(4096).nullable().default(null),
        /** F: RL steps between two rounds of synthesis. */
        stepsPerIteration: count.max(1000).nullable().default(null),
      })
      .prefault({}),
    signals: signalsSchema.prefault({}),
    /** Language models; null: the environment's own generator synthesizes tasks, and there is no judge. */
    llm: modelSettingsSchema.nullable().default(null),
    budget: budgetSettingsSchema.prefault({}),
    synthesis: synthesisSettingsSchema.prefault({}),
    admission: admissionSettingsSchema.prefault({}),
    judge: judgeSettingsSchema.prefault({}),
    pool: poolSettingsSchema.prefault({}),
    pairs: pairSettingsSchema.prefault({}),
    policy: policySettingsSchema.prefault({}),
    /** Initial agents: fine-tuned on the expert trajectories (`sft`), or the unchanged base model (`base`). */
    start: z.enum(['sft', 'base']).default('sft'),
    compute: computeSettingsSchema.prefault({}),
    training: trainingSettingsSchema.prefault({}),
    evaluation: z
      .strictObject({
        temperature: z.number().min(0).max(5).default(0),
        confidence: z.number().min(0.5).max(0.999).default(0.95),
      })
      .prefault({}),
    promotion: z
      .strictObject({
        rule: z.enum(['always', 'not-worse', 'significantly-better']).default(defaultPromotionSettings.rule),
        tolerance: unit.default(defaultPromotionSettings.tolerance),
        confidence: z.number().min(0.5).max(0.999).default(defaultPromotionSettings.confidence),
        resamples: count.max(100_000).default(defaultPromotionSettings.resamples),
        approval: z.boolean().default(false),
      })
      .prefault({}),
  })
  .refine(({ recipe, iterations = 0 }) => iterations === 0 || recipes[recipe].phases.length > 0, {
    path: ['iterations'],
    error: '0, because this recipe is the supervised start alone',
  });

/** Spec as written by its author. */
export type CampaignSpecInput = z.input<typeof campaignSpecSchema>;

/** Spec with all defaults. */
export type CampaignSpec = z.output<typeof campaignSpecSchema> & { iterations: number };
