import { z } from 'zod';
import {
  cellLabel,
  type CellName,
  type Contrast,
  type EffortMeasure,
  effortMeasures,
} from '../domain/experiment/experiment';
import { poolShareOf, shareIn } from '../domain/experiment/pool-shares';
import {
  byCell,
  byScore,
  type ExperimentRecord,
  type RecordedCell,
  undeclaredLooks,
} from '../domain/experiment/record';

/** Version of the procedures. It enters the key of an analysis: other procedures, other key. */
export const analysisVersion = 3;

/** Names an arm. */
const arm = z.string();
const seed = z.int().min(1);
const count = z.int().min(0);
/** A share between 0 and 1, both excluded. */
const share = z.number().gt(0).lt(1);
const score = z.number().min(0).max(1);
const measure = z.enum(effortMeasures);
/** `metric`: a share of the pool, where the contrast has its own. */
const contrast = z.object({ name: z.string(), plus: arm, minus: arm, metric: z.string().optional() });

/** Nominal amounts until a checkpoint. */
const checkpoint = z.object({ checkpoint: count, effort: z.partialRecord(measure, z.number().min(0)) });

const cell = z.object({
  arm,
  seed,
  status: z.enum(['finished', 'missing']),
  reason: z.string().nullable(),
  testHash: z.string().nullable(),
  leakedTasks: count,
  /** Another cell of the table with the same content hash. */
  copyOf: z.string().nullable(),
  /** Shares of its pool, by the metrics of contrasts; null where the cell has none. */
  shares: z.record(z.string(), score.nullable()).optional(),
  /** The last is the effort of the cell. */
  checkpoints: z.array(checkpoint).readonly(),
});

const scoreRow = z.object({
  arm,
  seed,
  checkpoint: count,
  task: z.string(),
  features: z.record(z.string(), z.union([z.string(), z.number()])),
  reward: score,
  success: score,
  /** Scored attempts at the task; absent: one. */
  attempts: z.int().min(1).optional(),
});

/** The input of `python -m coevolve_statistics`. Python refuses another one by the schema that is generated from it. */
export const analysisInputSchema = z.object({
  version: z.literal(analysisVersion),
  arms: z.array(z.object({ name: arm, replicaOf: arm.nullable() })).readonly(),
  /** Number of seeds that this analysis reads, and all declared looks. */
  look: seed,
  looks: z.array(seed).readonly(),
  /** Looks at differences that were taken and are not declared: alpha is charged for each. */
  looksTaken: z.array(seed).readonly(),
  match: z.object({ equal: z.array(measure).readonly(), within: z.partialRecord(measure, z.number().min(0)) }),
  metric: z.string(),
  alpha: share,
  primary: contrast,
  secondary: z.array(contrast).readonly(),
  ordering: z.array(arm).readonly().nullable(),
  margin: share,
  breakdown: z.array(z.string()).readonly(),
  /** A second verdict that the file declared. */
  companion: z.literal('trimmed').optional(),
  futility: z.number().nullable(),
  cells: z.array(cell).readonly(),
  scores: z.array(scoreRow).readonly(),
});

export type AnalysisInput = z.infer<typeof analysisInputSchema>;

/** Measures that take part in an analysis only if it decides by them: repetitions of a cell differ in them. */
const measured: readonly EffortMeasure[] = ['usd', 'gpuSeconds', 'wallSeconds'];

/**
 * Returns the input of the statistics: cells and scores of the first `look` seeds in a fixed order. Interruptions and a
 * repetition of a cell from its manifest do not change it.
 */
export function analysisInput(record: ExperimentRecord, look: number): AnalysisInput {
  const { experiment, cells, scores } = record;
  const { arms, analysis, match, looks, stopping } = experiment;
  const names = new Set(arms.map(({ name }) => name));
  const isRead = (each: CellName): boolean => each.seed <= look && names.has(each.arm);
  const decides = (each: EffortMeasure): boolean =>
    match.equal.includes(each) || each in match.within || analysis.metric === `aulc(${each})`;
  const measures = effortMeasures.filter((each) => !measured.includes(each) || decides(each));
  return {
    version: analysisVersion,
    arms: arms.map(({ name, replicaOf }) => ({ name, replicaOf })),
    look,
    looks,
    looksTaken: undeclaredLooks(record),
    match: { equal: match.equal, within: match.within },
    metric: analysis.metric,
    alpha: analysis.alpha,
    primary: analysis.primary,
    secondary: analysis.secondary,
    ordering: analysis.ordering,
    margin: analysis.margin,
    breakdown: analysis.breakdown,
    ...(analysis.companion ? { companion: analysis.companion } : {}),
    futility: stopping.futility,
    cells: cells
      .filter(isRead)
      .map((each) => ({ ...analysedCell(each, measures, cells), ...sharesOf(each, analysis.secondary) }))
      .sort(byCell),
    scores: scores.filter(isRead).toSorted(byScore),
  };
}

const analysedCell = (
  { arm: name, seed: number, status, reason, testHash, leakedTasks, contentHash, checkpoints }: RecordedCell,
  measures: readonly EffortMeasure[],
  cells: readonly RecordedCell[],
): AnalysisInput['cells'][number] => ({
  arm: name,
  seed: number,
  status,
  reason,
  testHash,
  leakedTasks,
  copyOf: copyOf({ arm: name, seed: number, contentHash }, cells),
  checkpoints: checkpoints.map(({ checkpoint: at, effort }) => ({
    checkpoint: at,
    effort: Object.fromEntries(measures.flatMap((each) => (effort[each] ? [[each, effort[each].nominal]] : []))),
  })),
});

/** Without contrasts of shares a cell has no key for them: equal inputs keep their hash. */
function sharesOf(own: RecordedCell, contrasts: readonly Contrast[]): Pick<AnalysisInput['cells'][number], 'shares'> {
  const shares = contrasts.flatMap(({ metric }) => {
    const compared = metric === undefined ? undefined : poolShareOf(metric);
    return compared ? [[metric, shareIn(own, compared)]] : [];
  });
  return shares.length === 0 ? {} : { shares: Object.fromEntries(shares) as Record<string, number | null> };
}

/** Returns the label of the first other cell with the same content hash. */
function copyOf(own: Pick<RecordedCell, 'arm' | 'seed' | 'contentHash'>, cells: readonly RecordedCell[]) {
  const other = cells.find(
    (each) => each.contentHash !== null && each.contentHash === own.contentHash && cellLabel(each) !== cellLabel(own),
  );
  return other === undefined ? null : cellLabel(other);
}
