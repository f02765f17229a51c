import { compareText } from '../compare-text';
import type { ExcludedAttempts } from '../evaluation/exclusions';
import type { CheckpointEffort } from './effort';
import type { PlayedOn } from './played-on';
import type { StartManifest } from './starts';
import { cellsOf, type CellName, type Experiment } from './experiment';

/** Number of an iteration's tasks by a feature of the breakdown; iteration 0: the tasks of the start. */
export type PoolCount = { iteration: number; feature: string; category: string; tasks: number };

/** The parts of a manifest that a report reads; an older table, or one made by hand, may lack them. */
type ManifestParts = StartManifest & {
  /** Train tasks that each iteration admitted. */
  pool?: readonly PoolCount[] | undefined;
  /** Tasks from which each iteration made candidates. */
  parents?: readonly PoolCount[] | undefined;
  /** Attempts of the target policies at `test`. */
  exclusions?: ExcludedAttempts | undefined;
  /** Tasks that each iteration admitted, by aim. */
  admitted?: readonly { iteration: number; tasks: number }[] | undefined;
  /** When the campaign of the cell began, in ISO 8601. */
  startedAt?: string | undefined;
  playedOn?: PlayedOn | undefined;
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
  /** Scored attempts at the task; absent: one. */
  attempts?: number | undefined;
};

/** A later frozen version: its differences to the version before. */
export type Amendment = { version: number; frozenAt: string; differences: readonly unknown[] };

/** A look that somebody took. */
export type TakenLook = {
  look: number;
  /** Off the declared looks, or with cells that began before the freeze. */
  exploratory: boolean;
  /** Differences were shown. */
  shown: boolean;
  inputHash: string;
  at: string;
};

/** The frozen promise of an experiment. */
export type FrozenExperiment = {
  experiment: Experiment;
  version: number;
  /** sha256 of the canonical JSON of `experiment`. */
  hash: string;
  frozenAt: string | null;
  /** When its first version was frozen; an older table lacks it. */
  firstFrozenAt?: string | undefined;
  profile: string | null;
  manifest: Record<string, unknown> & FreezeManifest;
  amendments: readonly Amendment[];
  /** Every look that was taken, oldest first; an older table lacks them. */
  looks?: readonly TakenLook[] | undefined;
  /** Other experiments of the database with the same root seed; an older table lacks them. */
  sharedSeed?: readonly string[] | undefined;
};

/** A freeze records the time before it; an older one lacks this. */
export type FreezeManifest = {
  before?: { freeze: string | null; cells: readonly string[] } | undefined;
};

/** Everything that a report is made of: the promise, its cells, and the long table. */
export type ExperimentRecord = FrozenExperiment & { cells: readonly RecordedCell[]; scores: readonly ScoreRow[] };

/** Returns the looks at differences that no version in force declares: alpha is charged for them too. */
export const undeclaredLooks = ({ experiment, looks = [] }: FrozenExperiment): number[] =>
  [...new Set(looks.filter(({ shown }) => shown).map(({ look }) => look))]
    .filter((look) => !experiment.looks.includes(look))
    .toSorted((a, b) => a - b);

/** Returns why a finished cell does not follow its freeze, or null: its file may have been chosen by its score. */
function whyEarly(record: FrozenExperiment, cell: RecordedCell): string | null {
  if (cell.status !== 'finished') return null;
  if (cell.exploratory) return 'began before the freeze or with an arm added later';
  if (record.manifest.before?.cells.includes(cell.contentHash!)) return 'was there when the file was frozen';
  const frozenAt = record.firstFrozenAt ?? (record.version === 1 ? record.frozenAt : null);
  const startedAt = cell.manifest?.startedAt;
  if (startedAt === undefined) return 'has no time of its start';
  // Times are ISO 8601 in UTC with milliseconds, so that their texts are in their order.
  return frozenAt !== null && compareText(startedAt, frozenAt) < 0 ? 'began before the freeze' : null;
}

/** Lists the cells of a look that do not follow their freeze, with the reasons. */
export const earlyCells = (record: ExperimentRecord, look: number): { cell: RecordedCell; reason: string }[] =>
  record.cells.flatMap((cell) => {
    const reason = cell.seed <= look ? whyEarly(record, cell) : null;
    return reason === null ? [] : [{ cell, reason }];
  });

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
