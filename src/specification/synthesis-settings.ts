import { z } from 'zod';
import { aimChoices, growsPool, recipes } from '../domain/campaign/recipe';
import { keyRules, type Deciders } from './key-rules';
import { choice, count, flag, integer, number, unit } from './key-types';

const whyRecipeIsFixed = ({ recipe }: Deciders): string | false =>
  !growsPool(recipes[recipe]) && `the pool of ${recipe} does not grow`;

const whyPoolIsFixed = (spec: Deciders): string | false =>
  whyRecipeIsFixed(spec) || (spec.synthesis.aims === 'none' && 'with aims none the pool does not grow');

const whyNoModelWrites = ({ llm }: Deciders): string | false =>
  llm === null && 'without an llm section no model writes tasks';

/** Re-exploration, abstraction and validation (arXiv:2604.15840, sections 3.2 and 3.3). */
export const synthesisSettingsSchema = z.strictObject({
  initialTasks: integer(1, 10_000)
    .nullable()
    .default(null)
    .describe('Tasks synthesized without guidance as the initial pool (N_init); null starts with the seed tasks.'),
  aims: choice(aimChoices)
    .default('signals')
    .describe(
      'What candidates are aimed at: flagged tasks (signals), as many tasks that no signal flags (shuffled), any task (random), or none.',
    )
    .register(keyRules, { idleIf: whyRecipeIsFixed }),
  when: choice(['every', 'first'])
    .default('every')
    .describe('Iterations in which the pool grows: every one, or only the first after the start.')
    .register(keyRules, { idleIf: whyPoolIsFixed }),
  candidatesPerSignal: integer(0, 10_000)
    .default(100)
    .describe('Maximum candidates per signal and iteration; without signals, as many as the signals would get.'),
  growthCap: count
    .nullable()
    .default(null)
    .describe('Maximum tasks admitted per iteration over all aims; null admits all that pass.'),
  match: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('Name of a campaign whose number of admitted tasks per iteration this one copies.')
    .register(keyRules, {
      expects: ({ name, synthesis }) => synthesis.match === name && 'the name of another campaign',
      idleIf: whyPoolIsFixed,
    }),
  refills: integer(0, 20)
    .default(3)
    .describe('Further syntheses per iteration until as many tasks are admitted as `match` requires.')
    .register(keyRules, {
      idleIf: ({ synthesis }) => synthesis.match === null && 'without match no iteration is refilled',
    }),
  quotaPerSignal: count
    .nullable()
    .default(null)
    .describe('Maximum tasks admitted per iteration and aim; null admits all that pass.'),
  exploration: z
    .strictObject({
      contextsPerSignal: integer(1, 1000)
        .default(8)
        .describe('Flagged trajectories per signal and iteration that a model reflects upon.'),
      rounds: integer(1, 64).default(4).describe('Exploration runs per context; the paper gives no number.'),
      maxTurns: integer(1, 200).default(18).describe('Maximum actions per exploration run; the paper gives no number.'),
      observationCharacters: integer(200, 100_000)
        .default(2_000)
        .describe('Maximum characters of an observation in prompts; of a longer one its start and its end are shown.'),
    })
    .prefault({})
    .describe('Exploration of environments by a language model.'),
  minActions: integer(1, 64)
    .nullable()
    .default(null)
    .describe(
      'Minimum actions of a task that a model writes, its final answer not counted; null: that of the environment, 1 where one action can be a whole task.',
    )
    .register(keyRules, {
      idleIf: whyNoModelWrites,
      expects: ({ synthesis: { minActions, exploration } }) =>
        (minActions ?? 0) > exploration.maxTurns &&
        `at most ${exploration.maxTurns}, the actions of an exploration run`,
    }),
  targetActions: integer(1, 64)
    .nullable()
    .default(null)
    .describe(
      'Actions that the prompts ask for in a task of a model; null: 4 (as CuES) where one action is not a whole task, otherwise no number.',
    )
    .register(keyRules, {
      idleIf: whyNoModelWrites,
      expects: ({ synthesis: { minActions, targetActions } }) =>
        targetActions !== null &&
        targetActions < (minActions ?? 1) &&
        `at least ${minActions}, the value of synthesis.minActions`,
    }),
  examples: integer(0, 16)
    .default(4)
    .describe('Solved tasks of the pool in the prompts of explorer and abstractor, the nearest ones; 0 shows none.')
    .register(keyRules, { idleIf: whyNoModelWrites }),
  abstraction: choice(['runs', 'actions'])
    .default('runs')
    .describe(
      'What one answer of the abstractor is about: all runs of a context (runs), or one executed action, of which it writes the request alone (actions), as a small model can.',
    )
    .register(keyRules, { idleIf: whyNoModelWrites }),
  minConfidence: unit
    .default(0)
    .describe('Minimum confidence of an abstracted candidate.')
    .register(keyRules, {
      idleIf: ({ synthesis: { abstraction } }) =>
        abstraction === 'actions' && 'synthesis.abstraction is actions, where none is asked for',
    }),
  validation: choice(['on', 'off'])
    .default('on')
    .describe('`off` admits candidates without playing or judging them (table 11 of the paper).'),
  /** Only the judge detects a query that does not match its actions. */
  rule: choice(['by-author', 'paper', 'strict', 'agreed', 'solvable'])
    .default('by-author')
    .describe(
      'Votes that accept a candidate: a replay with reward 1 (strict), and the judge (agreed) or a solver (solvable); any reward (paper); by the author of its query (by-author). With llm and no rule: solvable.',
    )
    .register(keyRules, {
      expects: ({ synthesis: { rule }, llm }) =>
        (rule === 'agreed' || rule === 'solvable') &&
        !llm &&
        'by-author, paper or strict: without an llm section there is no model',
    }),
  solverAttempts: integer(0, 16)
    .default(0)
    .describe(
      'Attempts of `llm.models.solver` at each candidate of a model, whose query alone it sees; 0 plays none. With rule solvable and no number: 2.',
    )
    .register(keyRules, {
      expects: ({ synthesis: { rule, solverAttempts } }) =>
        rule === 'solvable' && solverAttempts === 0 && 'at least 1: rule solvable accepts what an attempt solves',
      idleIf: ({ synthesis: { rule, validation }, llm }) =>
        (!llm && 'without an llm section there is no solver') ||
        (validation === 'off' && 'synthesis.validation is off') ||
        (rule !== 'solvable' && rule !== 'by-author' && `rule ${rule} does not read them`),
    }),
  grader: choice(['environment', 'judge'])
    .default('environment')
    .describe(
      "Source of rewards for synthesized tasks: the environment's checker if the task has one, or always the judge.",
    )
    .register(keyRules, { idleIf: ({ llm }) => !llm && 'without an llm section there is no judge' }),
  approval: flag
    .default(false)
    .describe('Whether an operator approves tasks before they are admitted, by `coevolve approve`.'),
});

/** Admission pipeline of all candidates; each verdict is stored with its reason. */
export const admissionSettingsSchema = z.strictObject({
  compare: choice(['goals', 'contents'])
    .optional()
    .describe(
      "How the generator's candidates are told from other tasks: by their goals too, or by content alone, where one goal is played in many worlds. Absent: goals.",
    ),
  duplicates: z
    .strictObject({
      similarity: unit
        .default(0.9)
        .describe('Jaccard similarity of word trigrams from which tasks are duplicates; 1 compares whole texts only.'),
      cosine: unit
        .default(0.97)
        .describe('Cosine similarity of embeddings from which tasks are duplicates; needs an embedding model.'),
    })
    .prefault({})
    .describe('Detection of candidates that the pool has already.'),
  decontamination: z
    .strictObject({
      ngram: integer(1, 64)
        .nullable()
        .default(8)
        .describe('Words per n-gram that is searched in held-out tasks; null compares only whole contents.'),
      share: unit
        .default(0.5)
        .describe("Share of a candidate's n-grams in one held-out task from which it is a leak; 0: any (decision 12)."),
      cosine: unit
        .default(0.97)
        .describe('Cosine similarity of embeddings to a held-out task from which a candidate is a leak.'),
    })
    .prefault({})
    .describe('Detection of candidates that repeat a held-out task.'),
  diversity: z
    .strictObject({
      floor: unit.default(0).describe('Minimum distance of a candidate to the pool, 1 - SR@k; 0 disables the check.'),
      neighbours: integer(1, 100).default(5).describe('Nearest tasks that SR@k compares (k).'),
      collapse: unit
        .default(0.95)
        .describe("SR@k of an iteration's admitted tasks from which the report shows a collapse of the pool."),
    })
    .prefault({})
    .describe('Distance of candidates to the tasks of the pool.'),
});

/** Sampling and retirement of tasks. The default is the paper's append-only pool with uniform sampling. */
export const poolSettingsSchema = z.strictObject({
  strategy: choice(['uniform', 'rods', 'genenv', 'agent0'])
    .default('uniform')
    .describe('Weight of a task when tasks are drawn: equal, or by its mean reward as in RODS, GenEnv or Agent0.'),
  band: z
    .strictObject({
      low: unit.describe('Lowest mean reward of the band.'),
      high: unit.describe('Highest mean reward of the band.'),
    })
    .nullable()
    .default(null)
    .describe(
      'Mean rewards outside of which a task has weight 0; null: that of the strategy (RODS 0.20 to 0.85, Agent0 0.3 to 0.8).',
    )
    .register(keyRules, {
      idleIf: ({ pool }) => pool.strategy === 'uniform' && 'uniform draws all tasks with equal probability',
    }),
  sharpness: number(0, 1000)
    .default(8)
    .describe('Sharpness of `genenv`: the weight is exp(-sharpness (r - 0.5)^2) for a mean reward r.'),
  clusterPenalty: number(0, 10).default(1).describe("Of `agent0`: weight of the share of a task's cluster."),
  window: integer(1, 100).default(3).describe("Iterations whose attempts count for a task's mean reward."),
  retirement: z
    .strictObject({
      above: unit.describe('Mean reward above which a task retires (RODS: 0.95).'),
      below: unit.describe('Mean reward below which a task retires after `patience` iterations.'),
      patience: integer(1, 1000)
        .describe('Iterations with attempts at a task before it retires for a low reward.')
        .register(keyRules, {
          expects: ({ pool: { retirement, window } }) =>
            (retirement?.patience ?? 0) > window && `at most ${window}, the value of pool.window`,
        }),
    })
    .nullable()
    .default(null)
    .describe('Retirement of mastered and of hopeless tasks; null retires none.'),
  synthesizedShare: unit
    .nullable()
    .default(null)
    .describe("Maximum share of synthesized tasks in an iteration's plan; null leaves the mix to the strategy."),
});
