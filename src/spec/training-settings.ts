import { z } from 'zod';

const count = z.number().int().min(1);

/** Settings that every training method has; the defaults of each method differ. */
const shared = (defaults: { epochs: number; learningRate: number; schedule: 'cosine' | 'constant' }) => ({
  epochs: count.max(1000).default(defaults.epochs),
  /** Trajectories (sft) or pairs per update. */
  batchSize: count.max(4096).default(8),
  /** Peak of the schedule. */
  learningRate: z.number().positive().default(defaults.learningRate),
  schedule: z.enum(['cosine', 'constant']).default(defaults.schedule),
  warmupFraction: z.number().min(0).max(1).default(0.05),
  weightDecay: z.number().min(0).max(10).default(0.01),
  maxGradNorm: z.number().positive().default(1),
  /** Tokens per row; longer rows are cut and counted. */
  maxLength: count.default(512),
  /** Updates between checkpoints: what a killed job repeats at most. */
  checkpointEvery: count.default(50),
});

const preference = {
  ...shared({ epochs: 3, learningRate: 1e-4, schedule: 'cosine' }),
  /** Strength of the pull to the reference policy. */
  beta: z.number().positive().default(0.1),
};

/** What the trainer is told, method by method: its own settings, in this language's spelling. */
export const trainingSettingsSchema = z.strictObject({
  /** Shape of the `scratch` policy. */
  init: z
    .strictObject({
      vocabularySize: count.min(300).default(768),
      hiddenSize: count.default(96),
      layers: count.default(3),
      heads: count.default(4),
      kvHeads: count.default(2),
      headDim: count.default(32),
      feedForwardSize: count.default(256),
      maxPositions: count.default(1024),
      initializerRange: z.number().positive().default(0.1),
    })
    .prefault({}),
  sft: z.strictObject(shared({ epochs: 14, learningRate: 3e-3, schedule: 'cosine' })).prefault({}),
  dpo: z.strictObject(preference).prefault({}),
  target: z.strictObject({ ...preference, sftReduction: z.enum(['mean', 'sum']).default('mean') }).prefault({}),
});

/** As the trainer spells it. */
export function toTrainerSettings(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]),
  );
}
