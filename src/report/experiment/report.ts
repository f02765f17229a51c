import type { AnalysisOutput } from '../../statistics/analysis-output';
import { type Completeness, completenessOf, earlyCells, type ExperimentRecord } from '../../domain/experiment/record';

/** The report's data. */
export type ExperimentReport = {
  record: ExperimentRecord;
  analysis: AnalysisOutput;
  /** sha256 of the analysed input. */
  inputHash: string;
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
  !record.experiment.looks.includes(analysis.look) || earlyCells(record, analysis.look).length > 0;

export const completeness = ({ record, analysis }: ExperimentReport): Completeness =>
  completenessOf(record, analysis.look);
