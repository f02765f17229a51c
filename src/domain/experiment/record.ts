import { compareText } from '../compare-text';
import type { ExcludedAttempts } from '../evaluation/exclusions';
import type { CheckpointEffort } from './effort';
import type { StartManifest } from './starts';
import { cellsOf, type CellName, type Experiment } from './experiment';

/** Number of train tasks that an iteration admitted, by a feature of the breakdown; 0: the tasks of the start. */
export type PoolCount = { iteration: number; feature: string; category: string; tasks: number };

/** The parts of a manifest that a report reads; an older table, or one made by hand, may lack them. */
type ManifestParts = StartManifest & {
  pool?: readonly PoolCount[] | undefined;
  /** Attempts of the target policies at `test`. */
  exclusions?: ExcludedAttempts | undefined;
};

/** A cell as it is stored, exported and imported. */
export type RecordedCell = CellName & {
  status: 'finished' | 'missing';
  /** Why the cell is missing; null for a finished one. */
  reason: string | null;
  /** The cell began before the experiment was frozen, or its arm was added later. */
  exploratory: boolean;
  /** sha256 over the sorted content keys of the tasks of `test`: arms of one seed must have the same. */
  testHash: string | null;
  /** Content keys of `test` that are also among the train tasks: must be none. */
  leakedTasks: number;
  campaign: string;
  /** Frozen version under which the cell began. */
  version: number;
  imported: boolean;
  /** Hash of the campaign's rows; null for a missing cell. */
  contentHash: string | null;
  manifest: (Record<string, unknown> & ManifestParts) | null;
  checkpoints: readonly CheckpointEffort[];
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

/** A later frozen version: its differences to the version before. */
export type Amendment = { version: number; frozenAt: string; differences: readonly unknown[] };

/** The frozen promise of an experiment. */
export type FrozenExperiment = {
  experiment: Experiment;
  version: number;
  /** sha256 of the canonical JSON of `experiment`. */
  hash: string;
  frozenAt: string | null;
  profile: string | null;
  manifest: Record<string, unknown>;
  amendments: readonly Amendment[];
};

/** Everything that a report is made of: the promise, its cells, and the long table. */
export type ExperimentRecord = FrozenExperiment & { cells: readonly RecordedCell[]; scores: readonly ScoreRow[] };

/** Progress of the cells of a look: without scores. */
export type Completeness = { expected: number; finished: number; missing: readonly (CellName & { reason: string })[] };

/** Counts the cells of the first `look` seeds. */
export function completenessOf({ experiment, cells }: ExperimentRecord, look: number): Completeness {
  const expected = cellsOf(experiment.arms, look);
  const missing = expected.flatMap(({ arm, seed }) => {
    const cell = cells.find((each) => each.arm === arm && each.seed === seed);
    return cell?.status === 'finished' ? [] : [{ arm, seed, reason: cell?.reason ?? 'it has not been played' }];
  });
  return { expected: expected.length, finished: expected.length - missing.length, missing };
}

/** Returns the largest declared look whose cells have all finished, if any. */
export const completeLook = (record: ExperimentRecord): number | null =>
  record.experiment.looks.findLast((look) => completenessOf(record, look).missing.length === 0) ?? null;

/** The order of all exports: seed by seed, as the cells start. */
export const byCell = (a: CellName, b: CellName): number => a.seed - b.seed || compareText(a.arm, b.arm);

export const byScore = (a: ScoreRow, b: ScoreRow): number =>
  byCell(a, b) || a.checkpoint - b.checkpoint || compareText(a.task, b.task);
