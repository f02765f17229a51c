import type { AnalysisOutput } from '../../statistics/analysis-output';
import { type Completeness, completenessOf, type ExperimentRecord } from '../../domain/experiment/record';

/** A look that somebody took at the scores. */
export type TakenLook = { look: number; exploratory: boolean; inputHash: string; at: string };

/** The report's data. */
export type ExperimentReport = {
  record: ExperimentRecord;
  analysis: AnalysisOutput;
  /** sha256 of the analysed input. */
  inputHash: string;
  looks: readonly TakenLook[];
  /** Tasks that one arm alone solved, with the attempts that show it. */
  flips: readonly FlippedTask[];
};

/** Attempts are ids for `coevolve trajectory`; null where the campaign is in no database here. */
export type FlippedTask = {
  contrast: string;
  seed: number;
  task: string;
  won: boolean;
  plusAttempt: string | null;
  minusAttempt: string | null;
};

/** An analysis is exploratory off the declared looks, or with cells that began before the freeze. */
export const isExploratory = ({ record, analysis }: Pick<ExperimentReport, 'record' | 'analysis'>): boolean =>
  !record.experiment.looks.includes(analysis.look) ||
  record.cells.some(({ seed, exploratory }) => seed <= analysis.look && exploratory);

export const completeness = ({ record, analysis }: ExperimentReport): Completeness =>
  completenessOf(record, analysis.look);
