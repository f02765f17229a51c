import type { CellName, Contrast, EffortMeasure } from './experiment';

/** Version of the procedures. It enters the key of an analysis: other procedures, other key. */
export const analysisVersion = 2;

/** Nominal and paid amount of each measure: with and without work that was found in other campaigns. */
export type Amounts = { nominal: number; paid: number };
export type Effort = Partial<Record<EffortMeasure, Amounts>>;

/** Effort until a checkpoint (iteration number), cumulative. */
export type CheckpointEffort = { checkpoint: number; effort: Effort };

/** The facts of a cell that its analysis reads beside its effort. */
export type CellFacts = CellName & {
  status: 'finished' | 'missing';
  /** Why the cell is missing; null for a finished one. */
  reason: string | null;
  /** The cell began before the experiment was frozen, or its arm was added later. */
  exploratory: boolean;
  /** sha256 over the sorted content keys of the tasks of `test`: arms of one seed must have the same. */
  testHash: string | null;
  /** Content keys of `test` that are also among the train tasks: must be none. */
  leakedTasks: number;
};

/** A cell as an analysis reads it: with nominal amounts until each checkpoint. The last is the effort of the cell. */
export type AnalysedCell = CellFacts & {
  checkpoints: readonly { checkpoint: number; effort: Partial<Record<EffortMeasure, number>> }[];
};

/** The result of one task of `test`, as stored in the long table. */
export type ScoreRow = CellName & {
  /** Number of the iteration after which the policy was scored; 0 is the supervised start. */
  checkpoint: number;
  /** Content key of the task. */
  task: string;
  /** Features of the task, for example its pattern. */
  features: Record<string, string | number>;
  /** In [0, 1]; the mean where a task was attempted more than once. */
  reward: number;
  /** 1: solved; a share where a task was attempted more than once. */
  success: number;
};

/** Input of `python -m coevolve_statistics`. */
export type AnalysisInput = {
  version: number;
  arms: readonly { name: string; replicaOf: string | null }[];
  /** Number of seeds that this analysis reads, and all declared looks. */
  look: number;
  looks: readonly number[];
  match: { equal: readonly EffortMeasure[]; within: Partial<Record<EffortMeasure, number>> };
  metric: string;
  alpha: number;
  primary: Contrast;
  secondary: readonly Contrast[];
  ordering: readonly string[] | null;
  margin: number;
  breakdown: readonly string[];
  futility: number | null;
  cells: readonly AnalysedCell[];
  scores: readonly ScoreRow[];
};

/**
 * better, worse: the corrected test finds a difference; equivalent: the difference lies within the margin (TOST);
 * inconclusive: neither; invalid: a rule was broken, so that the arms cannot be compared.
 */
export const verdicts = ['better', 'worse', 'equivalent', 'inconclusive', 'invalid'] as const;
export type Verdict = (typeof verdicts)[number];

/** A contrast after its tests. Numbers are null where the verdict is `invalid` or the deviation does not allow them. */
export type ContrastResult = {
  contrast: string;
  plus: string;
  minus: string;
  kind: 'primary' | 'secondary';
  /** Differences by seed, in the order of the seeds. */
  differences: readonly { seed: number; value: number }[];
  difference: number | null;
  sd: number | null;
  seeds: number;
  /** 95 % interval (1 - alpha at this look) and 90 % interval of the mean difference. */
  low: number | null;
  high: number | null;
  low90: number | null;
  high90: number | null;
  /** Paired t test, and the same after the correction of its family (Holm). */
  p: number | null;
  adjustedP: number | null;
  signFlipP: number | null;
  equivalenceP: number | null;
  /** g_z, with the correction for few seeds. */
  effectSize: number | null;
  /** Share of seeds in which `plus` is above, with half of the ties, and its Wilson interval. */
  probability: number | null;
  probabilityLow: number | null;
  probabilityHigh: number | null;
  /** Difference that this number of seeds detects with 80 % power at the observed deviation. */
  detectable: number | null;
  /** Seeds that would detect the margin with 80 % power. */
  seedsNeeded: number | null;
  verdict: Verdict;
  /** Sentences that say why the contrast is invalid or inconclusive. */
  reasons: readonly string[];
};

/** Output of `python -m coevolve_statistics`. Equal inputs give equal bytes. */
export type AnalysisOutput = {
  version: number;
  look: number;
  arms: readonly {
    arm: string;
    seeds: number;
    tasks: number;
    values: readonly { seed: number; value: number }[];
    mean: number | null;
    sd: number | null;
    min: number | null;
    max: number | null;
    iqm: number | null;
    low: number | null;
    high: number | null;
  }[];
  contrasts: readonly ContrastResult[];
  /** Every rule of effort for every contrast. `found`: the largest difference over the seeds. */
  effort: readonly {
    contrast: string;
    measure: EffortMeasure;
    rule: 'equal' | 'within';
    allowed: number;
    found: number;
    holds: boolean;
  }[];
  ordering: {
    arms: readonly string[];
    adjacent: readonly { contrast: string; p: number | null }[];
    /** Every adjacent contrast is significant in the expected direction. */
    chain: boolean;
    page: { statistic: number; p: number } | null;
  } | null;
  /** Descriptive: no test. */
  breakdown: readonly {
    contrast: string;
    feature: string;
    value: string;
    tasks: number;
    difference: number | null;
    low: number | null;
    high: number | null;
  }[];
  /** Means over the seeds at each checkpoint, with pointwise intervals. */
  curves: readonly {
    arm: string;
    checkpoint: number;
    mean: number;
    low: number | null;
    high: number | null;
  }[];
  /** Power of the primary contrast at its observed deviation. */
  power: readonly { difference: number; seeds: number; power: number }[];
  /** Conditional power of the primary contrast at the first of two looks; null else. */
  conditionalPower: number | null;
  /** Tasks that one arm alone solved, over the seeds, by contrast. */
  wonAndLost: readonly { contrast: string; seed: number; won: number; lost: number; p: number }[];
};
