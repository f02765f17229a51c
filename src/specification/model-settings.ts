import { z } from 'zod';
import { isSection, merge } from '../input/merge';
import { keyRules, type Deciders } from './key-rules';
import { choice, integer, unit } from './key-types';

/** Tokens of an answer without thinking: an action, an analysis or a verdict, and a list of tasks. */
const [shortAnswer, longAnswer] = [1024, 4096];
/** Tokens for thinking by effort: reasoning models spend thousands before the first token of an answer. */
const thinkingRoom = { none: 0, minimal: 2048, low: 4096, medium: 16_384, high: 32_768, xhigh: 65_536 };
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

const tokenCount = z.number().int().max(262_144);

/** Keys of a request that other settings control, or that change the protocol. */
const ownKeys = [
  'model',
  'messages',
  'temperature',
  'seed',
  'reasoning_effort',
  'max_tokens',
  'max_completion_tokens',
  'response_format',
  'n',
  'stream',
  'tools',
  'logprobs',
];

const dollars = z.number().min(0).max(1e6);

/**
 * One language model for one purpose. The price is required: without it, a budget in US dollars cannot be enforced.
 */
const model = (defaults: { temperature: number }) =>
  z.strictObject({
    provider: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,30}$/, 'lower-case letters, digits and hyphens, at most 31')
      .describe('Name of a provider in the file of COEVOLVE_LLM_PROVIDERS.'),
    model: z.string().min(1).describe("The provider's name of the model."),
    price: z
      .strictObject({
        inputPerMillion: dollars.describe('US dollars per million tokens of prompts.'),
        outputPerMillion: dollars.describe('US dollars per million tokens of answers.'),
      })
      .describe('Price in US dollars; 0 for a server of your own.'),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .nullable()
      .default(defaults.temperature)
      .describe('Sampling temperature; null sends none, for models that reject it.'),
    seed: choice(['derived'])
      .nullable()
      .default('derived')
      .describe("Seed of each request, derived from the campaign's; null sends none, for models that reject it."),
    reasoningEffort: choice(efforts)
      .nullable()
      .default(null)
      .describe('Effort of a reasoning model (`reasoning_effort`); null sends none.'),
    body: z
      .record(z.string(), z.unknown())
      .refine((body) => !ownKeys.some((key) => key in body), { error: `keys other than ${ownKeys.join(', ')}` })
      .default({})
      .describe("Further keys of each request, in the provider's names; no secrets."),
    structured: choice(['schema', 'lengths', 'object', 'none'])
      .default('none')
      .describe(
        'JSON output of the server (`response_format`) for answers in JSON: by their schema, by the schema with maximum lengths (vLLM, llama-server), any object, or by the prompt alone (none).',
      ),
    maxTokens: tokenCount
      .min(1)
      .optional()
      .describe(`Tokens per answer without its thinking; default: ${shortAnswer}, abstractor ${longAnswer}.`),
    thinkingTokens: tokenCount
      .min(0)
      .optional()
      .describe(
        `Further tokens per answer for thinking; default: by reasoningEffort, ${efforts.map((effort) => `${effort} ${thinkingRoom[effort]}`).join(', ')}, null 0.`,
      ),
  });

/** Purposes whose model is the explorer's where the spec names no other. */
export const inheritingPurposes = ['reflector', 'abstractor', 'judge', 'solver'] as const;

const identity = ['provider', 'model', 'price'];

/**
 * Completes the models that name neither provider, model nor price, such as `judge: { maxTokens: 200 }`: their keys replace
 * those of the explorer's model, as it is the default of the purpose.
 */
export function withExplorersModel(input: unknown): unknown {
  const llm = isSection(input) ? input['llm'] : undefined;
  const models = isSection(llm) ? llm['models'] : undefined;
  const explorer = isSection(models) ? models['explorer'] : undefined;
  if (!isSection(explorer) || !isSection(models) || !identity.every((key) => key in explorer)) return input;
  const completed = inheritingPurposes.flatMap((purpose) => {
    const own = models[purpose];
    if (!isSection(own) || identity.some((key) => key in own)) return [];
    return [[purpose, { ...inherited(explorer, purpose), ...own }]];
  });
  return merge(input, { llm: { models: Object.fromEntries(completed) } });
}

/** Returns the default model of a purpose; keys that the explorer's leaves out stay left out. */
function inherited<Model extends Readonly<Record<string, unknown>>>(
  explorer: Model,
  purpose: (typeof inheritingPurposes)[number],
) {
  const { temperature, maxTokens } = explorer;
  return {
    ...explorer,
    ...(purpose !== 'solver' && { temperature: temperature === null ? null : 0 }),
    ...(purpose === 'abstractor' && typeof maxTokens === 'number' && { maxTokens: Math.max(maxTokens, longAnswer) }),
  };
}

/** The model of each purpose; all but `embedding` default to the explorer's model. */
export const modelSettingsSchema = z
  .strictObject({
    models: z
      .strictObject({
        explorer: model({ temperature: 1 }).describe('Model that explores an environment.'),
        reflector: model({ temperature: 0 })
          .optional()
          .describe("Model that reads flagged trajectories; default: the explorer's at temperature 0."),
        abstractor: model({ temperature: 0 })
          .optional()
          .describe(
            `Model that turns explorations into tasks; default: the explorer's at temperature 0 with at least ${longAnswer} tokens.`,
          ),
        judge: model({ temperature: 0 })
          .optional()
          .describe(
            "Model that judges candidates, and attempts if it is the grader; default: the explorer's at temperature 0.",
          ),
        solver: model({ temperature: 1 })
          .optional()
          .describe(
            "Model that plays candidates whose query alone it sees, best a stronger one; default: the explorer's.",
          ),
        embedding: model({ temperature: 0 })
          .omit({ temperature: true, seed: true, reasoningEffort: true, body: true })
          .omit({ structured: true, maxTokens: true, thinkingTokens: true })
          .nullable()
          .default(null)
          .describe('Embedding model for duplicates, decontamination and diversity; null compares words only.'),
      })
      .describe('Models by purpose.'),
    uselessAnswers: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .nullable()
      .default(10)
      .describe(
        'Answers of one model in a row that cannot be used, after their repair, at which the campaign parks; null sets no bound.',
      ),
  })
  .transform(({ models, uselessAnswers }) => {
    const { explorer } = models;
    const modelOf = (purpose: (typeof inheritingPurposes)[number]) => models[purpose] ?? inherited(explorer, purpose);
    return {
      models: {
        explorer: withTokens(explorer, shortAnswer),
        reflector: withTokens(modelOf('reflector'), shortAnswer),
        abstractor: withTokens(modelOf('abstractor'), longAnswer),
        judge: withTokens(modelOf('judge'), shortAnswer),
        solver: withTokens(modelOf('solver'), shortAnswer),
        embedding: models.embedding,
      },
      uselessAnswers,
    };
  });

type Limited = {
  maxTokens?: number | undefined;
  thinkingTokens?: number | undefined;
  reasoningEffort: (typeof efforts)[number] | null;
};

const withTokens = <T extends Limited>(settings: T, answer: number) => ({
  ...settings,
  maxTokens: settings.maxTokens ?? answer,
  thinkingTokens: settings.thinkingTokens ?? thinkingRoom[settings.reasoningEffort ?? 'none'],
});

export type ModelSettings = z.output<typeof modelSettingsSchema>;

const whyModelsAreFree = ({ llm }: Deciders): string | false =>
  llm === null && 'without an llm section no model costs money';

/** Limits on spending, of which model calls are the largest part. */
export const budgetSettingsSchema = z.strictObject({
  llmTokens: z
    .number()
    .int()
    .min(0)
    .nullable()
    .default(null)
    .describe('Limit on the tokens of all model calls, prompts and answers; null: no limit.')
    .register(keyRules, { idleIf: whyModelsAreFree }),
  usd: z
    .number()
    .min(0)
    .nullable()
    .default(null)
    .describe('Limit on the cost of model calls and priced training jobs in US dollars; null: no limit.')
    .register(keyRules, { idleIf: (spec) => spec.compute.pricePerGpuHour === 0 && whyModelsAreFree(spec) }),
});

/** Calibration of the judge. */
export const judgeSettingsSchema = z.strictObject({
  calibrationTasks: integer(0, 1000)
    .default(20)
    .describe('Reference trajectories per calibration, and as many corrupted ones; 0 disables calibration.')
    .register(keyRules, {
      expects: ({ synthesis, llm, judge }) =>
        llm !== null &&
        synthesis.grader === 'judge' &&
        judge.calibrationTasks === 0 &&
        'at least 1: a judge must be calibrated before it grades attempts',
    }),
  calibrateEvery: integer(1, 1000).default(1).describe('Iterations between calibrations.'),
  minimumAgreement: unit
    .default(0.7)
    .describe(
      'Agreement with runs of known verdict below which a judge is not trusted; above 0.5 it must also beat chance.',
    ),
  whenUntrusted: choice(['park', 'solver'])
    .default('park')
    .describe(
      "Where verdicts of an untrusted judge would admit tasks: park, or take the solver's success in its place and reject what the judge alone could admit.",
    )
    .register(keyRules, {
      idleIf: ({ llm }) => !llm && 'without an llm section there is no judge',
      expects: ({ judge, synthesis: { rule, solverAttempts } }) =>
        judge.whenUntrusted === 'solver' &&
        ((rule === 'agreed' && 'park: rule agreed needs the judge') ||
          (rule === 'by-author' && solverAttempts === 0 && 'park: synthesis.solverAttempts is 0')),
    }),
});
