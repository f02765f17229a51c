import type { AnalysisOutput } from '../../../statistics/analysis-output';
import type { CellName } from '../../../domain/experiment/experiment';
import type { ExperimentRecord } from '../../../domain/experiment/record';
import { finalScores } from '../model/final-scores';

type Side = { campaign: string; checkpoint: number };
export type Flip = { contrast: string; seed: number; task: string; won: boolean; plus: Side; minus: Side };

/** Shown tasks that were won, and as many that were lost. */
const shownEach = 6;

/** Returns tasks of the primary contrast that one arm alone solved, in the order of seeds. None before a complete look. */
export function flippedTasks(record: ExperimentRecord, { look, wonAndLost }: AnalysisOutput): Flip[] {
  const { name: contrast, plus, minus } = record.experiment.analysis.primary;
  if (!wonAndLost.some((row) => row.contrast === contrast)) return [];
  const scores = finalScores(record, look);
  const key = ({ seed, task }: { seed: number; task: string }): string => `${seed}\n${task}`;
  const other = new Map(scores.filter(({ arm }) => arm === minus).map((row) => [key(row), row]));
  const campaign = ({ arm, seed }: CellName): string =>
    record.cells.find((cell) => cell.arm === arm && cell.seed === seed)!.campaign;
  const flips = scores.flatMap((row): Flip[] => {
    const against = other.get(key(row));
    if (row.arm !== plus || against === undefined || against.success === row.success) return [];
    const side = (each: typeof row): Side => ({ campaign: campaign(each), checkpoint: each.checkpoint });
    const won = row.success > against.success;
    return [{ contrast, seed: row.seed, task: row.task, won, plus: side(row), minus: side(against) }];
  });
  return [true, false].flatMap((won) => flips.filter((flip) => flip.won === won).slice(0, shownEach));
}
