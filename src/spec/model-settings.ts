import { z } from 'zod';

const dollars = z.number().min(0).max(1e6);

/**
 * One language model for one purpose. The price is required: without it, a budget in US dollars cannot be enforced.
 */
const model = (defaults: { temperature: number; maxTokens: number }) =>
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
    temperature: z.number().min(0).max(2).default(defaults.temperature).describe('Sampling temperature.'),
    maxTokens: z
      .number()
      .int()
      .min(1)
      .max(65_536)
      .default(defaults.maxTokens)
      .describe('Tokens per answer; each call also reserves this number from the budget.'),
  });

/** The model of each purpose; all but `embedding` default to the explorer's model. */
export const modelSettingsSchema = z
  .strictObject({
    models: z
      .strictObject({
        explorer: model({ temperature: 1, maxTokens: 1024 }).describe('Model that explores an environment.'),
        reflector: model({ temperature: 0, maxTokens: 1024 })
          .optional()
          .describe("Model that reads flagged trajectories; default: the explorer's at temperature 0."),
        abstractor: model({ temperature: 0, maxTokens: 4096 })
          .optional()
          .describe(
            "Model that turns explorations into tasks; default: the explorer's at temperature 0 with at least 4096 tokens.",
          ),
        judge: model({ temperature: 0, maxTokens: 1024 })
          .optional()
          .describe(
            "Model that judges candidates, and attempts if it is the grader; default: the explorer's at temperature 0.",
          ),
        solver: model({ temperature: 1, maxTokens: 1024 })
          .optional()
          .describe(
            "Model that plays candidates whose query alone it sees, best a stronger one; default: the explorer's.",
          ),
        embedding: model({ temperature: 0, maxTokens: 1 })
          .omit({ temperature: true, maxTokens: true })
          .nullable()
          .default(null)
          .describe('Embedding model for duplicates, decontamination and diversity; null compares words only.'),
      })
      .describe('Models by purpose.'),
  })
  .transform(({ models }) => {
    const { explorer } = models;
    const deterministic = { ...explorer, temperature: 0 };
    return {
      models: {
        ...models,
        reflector: models.reflector ?? deterministic,
        abstractor: models.abstractor ?? { ...deterministic, maxTokens: Math.max(explorer.maxTokens, 4096) },
        judge: models.judge ?? deterministic,
        solver: models.solver ?? explorer,
      },
    };
  });

export type ModelSettings = z.output<typeof modelSettingsSchema>;
