import { z } from 'zod';

const count = z.number().int().min(1);
const whole = z.number().int().min(0);
const unit = z.number().min(0).max(1);

/** Re-exploration, abstraction and validation (arXiv:2604.15840, sections 3.2 and 3.3). */
export const synthesisSettingsSchema = z.strictObject({
  /** N_init: tasks synthesized without guidance at the start, which the pool then begins with; null begins with the seed tasks. */
  initialTasks: count.max(10_000).nullable().default(null),
  /** Candidates per aim and iteration, at most; the random control asks for as many as all enabled aims together. */
  candidatesPerSignal: whole.max(10_000).default(100),
  /** Most admitted per iteration over all aims; null admits all that pass. */
  growthCap: count.nullable().default(null),
  /** Of the random control: the campaign after which it admits as many tasks in every iteration, and no more. */
  match: z.string().min(1).nullable().default(null),
  /** Most admitted per iteration and aim. */
  quotaPerSignal: count.nullable().default(null),
  exploration: z
    .strictObject({
      /** Flagged trajectories per signal and iteration that a model reflects upon. */
      contextsPerSignal: count.max(1000).default(8),
      /** Runs per context: the paper gives no number. */
      rounds: count.max(64).default(4),
      /** Actions per run: the paper gives no number. */
      maxTurns: count.max(200).default(18),
    })
    .prefault({}),
  /** Confidence below which an abstracted candidate is not proposed. */
  minConfidence: unit.default(0),
  /** Off: candidates are admitted unexecuted (table 11 of the paper). */
  validation: z.enum(['on', 'off']).default('on'),
  /**
   * `paper`: completed, or failed with a reward above 0; `strict`: completed; `agreed`: completed by the environment's
   * replay and by the judge's word, who alone can tell that a query and its actions do not belong together.
   */
  rule: z.enum(['paper', 'strict', 'agreed']).default('paper'),
  /** What rewards attempts at synthesized tasks: the environment's checker where it has one for the task, or the judge always. */
  grader: z.enum(['environment', 'judge']).default('environment'),
  /** Whether an operator approves what is about to be admitted. */
  approval: z.boolean().default(false),
});

/** One pipeline for every candidate; each verdict is stored with its reason. */
export const admissionSettingsSchema = z.strictObject({
  duplicates: z
    .strictObject({
      /** Jaccard similarity of word trigrams from which two tasks are one; 1 compares whole texts alone. */
      similarity: unit.default(0.9),
      /** Cosine from which two are one, where an embedding model is set. */
      cosine: unit.default(0.97),
    })
    .prefault({}),
  decontamination: z
    .strictObject({
      /** Length of a shared run of words that gives a held-out task away; null looks at equal content alone. */
      ngram: count.max(64).nullable().default(8),
      /** Share of the candidate's runs found in one held-out task from which it leaks; 0 means: any (decision 12). */
      share: unit.default(0.5),
      cosine: unit.default(0.97),
    })
    .prefault({}),
  diversity: z
    .strictObject({
      /** Least distance (1 - SR@k to the pool) of a candidate; 0 asks for none. */
      floor: unit.default(0),
      /** k of SR@k. */
      neighbours: count.max(100).default(5),
      /** SR@k of what an iteration admitted from which the pool is said to collapse. */
      collapse: unit.default(0.95),
    })
    .prefault({}),
});

/** Which tasks are drawn, and which no longer; off is the paper's append-only pool, drawn uniformly. */
export const poolSettingsSchema = z.strictObject({
  strategy: z.enum(['uniform', 'rods', 'genenv', 'agent0']).default('uniform'),
  /** Mean reward, in which the strategies see a task worth drawing (RODS 0.20 to 0.85, Agent0 0.3 to 0.8). */
  band: z.strictObject({ low: unit, high: unit }).nullable().default(null),
  /** Sharpness of `genenv`: weight exp(-sharpness (r - 0.5)^2). */
  sharpness: z.number().min(0).max(1000).default(8),
  /** Weight of the share of a task's own cluster under `agent0`. */
  clusterPenalty: z.number().min(0).max(10).default(1),
  /** Iterations whose attempts count into a task's mean reward. */
  window: count.max(100).default(3),
  retirement: z
    .strictObject({
      /** Mean reward above which a task retires (RODS: 0.95). */
      above: unit,
      /** Mean reward below which it does, after `patience` iterations in which it was played. */
      below: unit,
      patience: count.max(1000),
    })
    .nullable()
    .default(null),
  /** Largest share of synthesized tasks in an iteration's plan; null mixes by strategy alone. */
  synthesizedShare: unit.nullable().default(null),
});

/** How the judge is held to account. */
export const judgeSettingsSchema = z.strictObject({
  /** Gold trajectories of a calibration, and as many broken ones; 0 calibrates never. */
  calibrationTasks: whole.max(1000).default(20),
  /** Iterations between calibrations. */
  calibrateEvery: count.max(1000).default(1),
  /** Agreement below which a judge that grades attempts parks the campaign. */
  minimumAgreement: unit.default(0.7),
});

export const budgetSettingsSchema = z.strictObject({
  /** Tokens of all language-model calls, prompts and answers. */
  llmTokens: z.number().int().min(0).nullable().default(null),
  usd: z.number().min(0).nullable().default(null),
});
