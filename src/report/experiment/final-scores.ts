import type { ExperimentRecord, ScoreRow } from '../../domain/experiment/record';

export type FinalScore = ScoreRow & {
  /** Success or reward, whichever the metric reads. */
  score: number;
};

/** Returns the scores of the last checkpoint of every finished cell of the first `look` seeds. */
export function finalScores({ experiment, cells, scores }: ExperimentRecord, look: number): FinalScore[] {
  const key = ({ arm, seed }: { arm: string; seed: number }): string => `${arm}\n${seed}`;
  const finished = cells.filter(({ seed, status }) => seed <= look && status === 'finished');
  const last = new Map(finished.map((cell) => [key(cell), cell.checkpoints.at(-1)?.checkpoint]));
  const read = experiment.analysis.metric.startsWith('reward') ? 'reward' : 'success';
  return scores.filter((row) => last.get(key(row)) === row.checkpoint).map((row) => ({ ...row, score: row[read] }));
}
