import { compareText } from '../compare-text';
import type { AnalysedCell, AnalysisInput, CellFacts, CheckpointEffort, ScoreRow } from './analysis';
import { analysisVersion } from './analysis';
import type { StartManifest } from './starts';
import { cellsOf, type CellName, type EffortMeasure, effortMeasures, type Experiment } from './experiment';

/** Number of train tasks that an iteration admitted, by a feature of the breakdown; 0: the tasks of the start. */
export type PoolCount = { iteration: number; feature: string; category: string; tasks: number };

/** The parts of a manifest that a report reads; an older table, or one made by hand, may lack them. */
type ManifestParts = StartManifest & { pool?: readonly PoolCount[] | undefined };

/** A cell as it is stored, exported and imported. */
export type RecordedCell = CellFacts & {
  campaign: string;
  /** Frozen version under which the cell began. */
  version: number;
  imported: boolean;
  /** Hash of the campaign's rows; null for a missing cell. */
  contentHash: string | null;
  manifest: (Record<string, unknown> & ManifestParts) | null;
  checkpoints: readonly CheckpointEffort[];
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

/** Returns the largest declared look whose cells have all finished; null: none. */
export const completeLook = (record: ExperimentRecord): number | null =>
  record.experiment.looks.findLast((look) => completenessOf(record, look).missing.length === 0) ?? null;

/** Measures that take part in an analysis only if it decides by them: repetitions of a cell differ in them. */
const measured: readonly EffortMeasure[] = ['usd', 'gpuSeconds', 'wallSeconds'];

/**
 * Returns the input of the statistics: cells and scores of the first `look` seeds in a fixed order. Interruptions and a
 * repetition of a cell from its manifest do not change it.
 */
export function analysisInput({ experiment, cells, scores }: ExperimentRecord, look: number): AnalysisInput {
  const { arms, analysis, match, looks, stopping } = experiment;
  const names = new Set(arms.map(({ name }) => name));
  const isRead = ({ arm, seed }: CellName): boolean => seed <= look && names.has(arm);
  const decides = (measure: EffortMeasure): boolean =>
    match.equal.includes(measure) || measure in match.within || analysis.metric === `aulc(${measure})`;
  const measures = effortMeasures.filter((measure) => !measured.includes(measure) || decides(measure));
  return {
    version: analysisVersion,
    arms: arms.map(({ name, replicaOf }) => ({ name, replicaOf })),
    look,
    looks,
    match: { equal: match.equal, within: match.within },
    metric: analysis.metric,
    alpha: analysis.alpha,
    primary: analysis.primary,
    secondary: analysis.secondary,
    ordering: analysis.ordering,
    margin: analysis.margin,
    breakdown: analysis.breakdown,
    futility: stopping.futility,
    cells: cells
      .filter(isRead)
      .map((cell) => analysedCell(cell, measures))
      .sort(byCell),
    scores: scores.filter(isRead).toSorted(byScore),
  };
}

const analysedCell = (cell: RecordedCell, measures: readonly EffortMeasure[]): AnalysedCell => ({
  arm: cell.arm,
  seed: cell.seed,
  status: cell.status,
  reason: cell.reason,
  exploratory: cell.exploratory,
  testHash: cell.testHash,
  leakedTasks: cell.leakedTasks,
  checkpoints: cell.checkpoints.map(({ checkpoint, effort }) => ({
    checkpoint,
    effort: Object.fromEntries(
      measures.flatMap((measure) => (effort[measure] ? [[measure, effort[measure].nominal]] : [])),
    ),
  })),
});

/** The order of all exports: seed by seed, as the cells start. */
export const byCell = (a: CellName, b: CellName): number => a.seed - b.seed || compareText(a.arm, b.arm);

export const byScore = (a: ScoreRow, b: ScoreRow): number =>
  byCell(a, b) || a.checkpoint - b.checkpoint || compareText(a.task, b.task);
