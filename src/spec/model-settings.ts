import { z } from 'zod';

const dollars = z.number().min(0).max(1e6);

/**
 * One language model for one purpose. The price is required: without it, a budget in US dollars cannot be enforced.
 */
const model = (defaults: { temperature: number; maxTokens: number }) =>
  z.strictObject({
    /** Name of a provider in the file of COEVOLVE_LLM_PROVIDERS. */
    provider: z.string().regex(/^[a-z0-9][a-z0-9-]{0,30}$/, 'lower-case letters, digits and hyphens, at most 31'),
    model: z.string().min(1),
    /** US dollars per million tokens; 0 for your own server. */
    price: z.strictObject({ inputPerMillion: dollars, outputPerMillion: dollars }),
    temperature: z.number().min(0).max(2).default(defaults.temperature),
    /** Tokens per completion; each call also reserves this number from the budget. */
    maxTokens: z.number().int().min(1).max(65_536).default(defaults.maxTokens),
  });

/** The model of each purpose; reflector, abstractor and judge default to the explorer's model. */
export const modelSettingsSchema = z
  .strictObject({
    models: z.strictObject({
      explorer: model({ temperature: 1, maxTokens: 1024 }),
      reflector: model({ temperature: 0, maxTokens: 1024 }).optional(),
      abstractor: model({ temperature: 0, maxTokens: 4096 }).optional(),
      judge: model({ temperature: 0, maxTokens: 1024 }).optional(),
      /** Used by deduplication, decontamination and the diversity metrics; null compares only word n-grams. */
      embedding: model({ temperature: 0, maxTokens: 1 })
        .omit({ temperature: true, maxTokens: true })
        .nullable()
        .default(null),
    }),
  })
  .transform(({ models }) => {
    const { explorer } = models;
    const sober = { ...explorer, temperature: 0 };
    return {
      models: {
        ...models,
        reflector: models.reflector ?? sober,
        abstractor: models.abstractor ?? { ...sober, maxTokens: Math.max(explorer.maxTokens, 4096) },
        judge: models.judge ?? sober,
      },
    };
  });

export type ModelSettings = z.output<typeof modelSettingsSchema>;
