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
