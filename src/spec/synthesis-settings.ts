import { z } from 'zod';

const count = z.number().int().min(1);
const whole = z.number().int().min(0);
const unit = z.number().min(0).max(1);

/** Re-exploration, abstraction and validation (arXiv:2604.15840, sections 3.2 and 3.3). */
export const synthesisSettingsSchema = z.strictObject({
  /** N_init: tasks synthesized without guidance at the start as the initial pool; null starts with the seed tasks. */
  initialTasks: count.max(10_000).nullable().default(null),
  /** Maximum candidates per aim and iteration; the random control gets as many as all enabled aims in total. */
  candidatesPerSignal: whole.max(10_000).default(100),
  /** Maximum tasks admitted per iteration over all aims; null admits all that pass. */
  growthCap: count.nullable().default(null),
  /** For the random control: a campaign whose number of admitted tasks per iteration it copies. */
  match: z.string().min(1).nullable().default(null),
  /** Maximum tasks admitted per iteration and aim. */
  quotaPerSignal: count.nullable().default(null),
  exploration: z
    .strictObject({
      /** Flagged trajectories per signal and iteration for reflection. */
      contextsPerSignal: count.max(1000).default(8),
      /** Exploration runs per context; the paper gives no number. */
      rounds: count.max(64).default(4),
      /** Actions per exploration run; the paper gives no number. */
      maxTurns: count.max(200).default(18),
    })
    .prefault({}),
  /** Minimum confidence of an abstracted candidate. */
  minConfidence: unit.default(0),
  /** `off` admits candidates without execution (table 11 of the paper). */
  validation: z.enum(['on', 'off']).default('on'),
  /**
   * `paper`: completed, or failed with a reward above 0; `strict`: completed; `agreed`: completed in the environment's
   * replay and in the judge's verdict. Only the judge detects a query that does not match its actions.
   */
  rule: z.enum(['paper', 'strict', 'agreed']).default('paper'),
  /** Source of rewards for synthesized tasks: the environment's checker if the task has one, or always the judge. */
  grader: z.enum(['environment', 'judge']).default('environment'),
  /** If true, an operator approves tasks before they are admitted. */
  approval: z.boolean().default(false),
});

/** Admission pipeline of all candidates; each verdict is stored with its reason. */
export const admissionSettingsSchema = z.strictObject({
  duplicates: z
    .strictObject({
      /** Minimum Jaccard similarity of word trigrams of duplicates; 1 compares only whole texts. */
      similarity: unit.default(0.9),
      /** Minimum cosine similarity of duplicates; needs an embedding model. */
      cosine: unit.default(0.97),
    })
    .prefault({}),
  decontamination: z
    .strictObject({
      /** Words per n-gram that counts as shared with a held-out task; null compares only whole contents. */
      ngram: count.max(64).nullable().default(8),
      /** Minimum share of the candidate's n-grams in one held-out task that counts as a leak; 0 means any (decision 12). */
      share: unit.default(0.5),
      cosine: unit.default(0.97),
    })
    .prefault({}),
  diversity: z
    .strictObject({
      /** Minimum distance of a candidate to the pool, 1 - SR@k; 0 disables the check. */
      floor: unit.default(0),
      /** k of SR@k. */
      neighbours: count.max(100).default(5),
      /** Minimum SR@k of an iteration's admitted tasks that is reported as a collapse of the pool. */
      collapse: unit.default(0.95),
    })
    .prefault({}),
});

/** Sampling and retirement of tasks. The default is the paper's append-only pool with uniform sampling. */
export const poolSettingsSchema = z.strictObject({
  strategy: z.enum(['uniform', 'rods', 'genenv', 'agent0']).default('uniform'),
  /** Range of mean rewards that the strategies prefer (RODS 0.20 to 0.85, Agent0 0.3 to 0.8). */
  band: z.strictObject({ low: unit, high: unit }).nullable().default(null),
  /** Sharpness of `genenv`: weight exp(-sharpness (r - 0.5)^2). */
  sharpness: z.number().min(0).max(1000).default(8),
  /** `agent0`: weight of the share of a task's cluster. */
  clusterPenalty: z.number().min(0).max(10).default(1),
  /** Iterations that count for a task's mean reward. */
  window: count.max(100).default(3),
  retirement: z
    .strictObject({
      /** Mean reward above which a task retires (RODS: 0.95). */
      above: unit,
      /** Mean reward below which a task retires after `patience` iterations in which it was played. */
      below: unit,
      patience: count.max(1000),
    })
    .nullable()
    .default(null),
  /** Maximum share of synthesized tasks in an iteration's plan; null leaves the mix to the strategy. */
  synthesizedShare: unit.nullable().default(null),
});

/** Calibration of the judge. */
export const judgeSettingsSchema = z.strictObject({
  /** Reference trajectories per calibration, plus the same number of corrupted ones; 0 disables calibration. */
  calibrationTasks: whole.max(1000).default(20),
  /** Iterations between calibrations. */
  calibrateEvery: count.max(1000).default(1),
  /** Agreement below which a campaign whose judge grades attempts is parked. */
  minimumAgreement: unit.default(0.7),
});

export const budgetSettingsSchema = z.strictObject({
  /** Prompt and completion tokens of all language-model calls. */
  llmTokens: z.number().int().min(0).nullable().default(null),
  usd: z.number().min(0).nullable().default(null),
});
