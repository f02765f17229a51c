/**
 * Amounts that are counted for each cell. An amount is nominal, as if the cell had run alone, or paid: work that was found
 * again by its content costs nothing a second time.
 */
export const effortMeasures = [
  'environmentAttempts', // training attempts of all agents, without evaluations
  'updates', // steps of the optimizer, over all jobs
  'targetPairs', // preference pairs that the target is trained on, over all iterations
  'expertTargetPairs', // of these, the pairs of an expert and the target's own attempt
  'expertFailurePairs', // of these, the pairs of an expert and the failure agent's attempt
  'expertPositivePairs', // of these, the pairs of an expert and the positive agent's attempt
  'failurePairs', // of these, the pairs of two failures, which teach without an expert
  'likelihoodRows', // rows whose likelihood the target is trained on: updates x batch x share of the rows with that term
  'expertRows', // of these, the rows of an expert's answers
  'admittedTasks', // synthesized ones, without the start
  'flags', // tasks that feedback signals mark
  'trainedTokens',
  'rolloutTokens', // prompt and completion tokens of the training attempts
  'modelTokens', // of language models
  'usd',
  'gpuSeconds',
  'wallSeconds',
] as const;
export type EffortMeasure = (typeof effortMeasures)[number];

/** An arm: a way to train, as the differences of one campaign spec from the base. */
export type Arm = {
  name: string;
  /** The arm that this one repeats with other seeds (A/A), if any. */
  replicaOf: string | null;
  /** Resolved campaign spec without `name` and `seed`. */
  spec: Record<string, unknown>;
  /** Keys whose values differ from the base, for tables. */
  differences: readonly { key: string; base: unknown; arm: unknown }[];
  /** The arm of the same seed whose admitted tasks this one must equal in number, if any. */
  matches: string | null;
};

/** A difference of two arms: `plus` minus `minus`. */
export type Contrast = {
  /** "plus - minus", and behind a comma the metric where the contrast has its own. */
  name: string;
  plus: string;
  minus: string;
  /** Share of the pool (`poolShareOf`) that is compared in place of the experiment's metric. */
  metric?: string | undefined;
};

/** An experiment with every value written out. `coevolve experiment freeze` stores it and its hash. */
export type Experiment = {
  name: string;
  /** Root of the seeds of all cells. */
  seed: number;
  question: string;
  /** Arms in the order of the file; an arm stands behind the one that it matches. */
  arms: readonly Arm[];
  /** Numbers of seeds after which the scores may be analysed: one or two, ascending. The last is the size. */
  looks: readonly number[];
  /** Cells that run at the same time. */
  concurrency: number;
  match: {
    /** Measures that must be the same for both arms of a contrast. */
    equal: readonly EffortMeasure[];
    /** Measures with the largest allowed relative difference. */
    within: Partial<Record<EffortMeasure, number>>;
    /** Measures that are shown and not checked. */
    report: readonly EffortMeasure[];
  };
  analysis: {
    /** `success`, `reward`, `success@<feature>=<value>`, `reward@...`, or `aulc(<measure>)`. */
    metric: string;
    primary: Contrast;
    /** Level of the primary contrast, and of the family of the secondary ones. */
    alpha: number;
    secondary: readonly Contrast[];
    /** Arms that the question expects in ascending order, if it claims an order. */
    ordering: readonly string[] | null;
    /** The smallest difference of the metric that matters. */
    margin: number;
    /** Features of tasks, for example `pattern`. */
    breakdown: readonly string[];
    /** A second verdict, by the trimmed mean, which one collapsed seed cannot decide. */
    companion?: 'trimmed' | undefined;
  };
  /**
   * Limits after which no further cell starts. The first of two looks ends the experiment by `futility`, a conditional power
   * below it, or by `decided`, a primary verdict other than inconclusive.
   */
  stopping: { futility: number | null; decided?: true | undefined; usd: number | null; hours: number | null };
};

/** Name of a cell: an arm with a seed, numbered from 1. */
export type CellName = { arm: string; seed: number };

/** Returns the name of a cell as text, such as `coevolve-s3`. */
export const cellLabel = ({ arm, seed }: CellName): string => `${arm}-s${seed}`;

/** Returns the name of the campaign of a cell. */
export const cellCampaign = (experiment: string, cell: CellName): string => `${experiment}-${cellLabel(cell)}`;

/** Returns the cells of the first `seeds` seeds in order: all arms of seed 1, then all arms of seed 2. */
export const cellsOf = (arms: readonly Pick<Arm, 'name'>[], seeds: number): CellName[] =>
  Array.from({ length: seeds }, (_, i) => i + 1).flatMap((seed) => arms.map(({ name }) => ({ arm: name, seed })));
