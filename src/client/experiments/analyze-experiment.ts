import type { AnalysisOutput } from '../../domain/experiment/analysis';
import { analysisInput, completenessOf } from '../../domain/experiment/record';
import type { ExperimentReport } from '../../report/experiment';
import { readFlips } from '../../report/experiment/evidence/query';
import { analyzeOnce } from '../../statistics/run-statistics';
import type { Connections } from '../connections';
import { defaultLook, requireLook } from './analyze-table';

export type LookRequest = {
  /** Number of seeds; null: the largest complete look. */
  at: number | null;
  /** Also a look that is incomplete or was not declared: without differences. */
  exploratory: boolean;
};

/**
 * Analyses an experiment at a look and stores the analysis under the hash of its input: each look is counted.
 *
 * @throws DomainError `UnknownExperiment`
 * @throws UsageError  the look is incomplete or was not declared, without `exploratory`
 */
export async function analyzeExperiment(
  { config, pool, store }: Pick<Connections, 'config' | 'pool' | 'store'>,
  name: string,
  { at, exploratory }: LookRequest,
): Promise<ExperimentReport> {
  const { id, ...record } = await store.experimentRecords.get(name);
  const look = at ?? defaultLook(record);
  if (!exploratory) requireLook(record, look);
  const input = analysisInput(record, look);
  const isOpen = record.experiment.looks.includes(look) && completenessOf(record, look).missing.length === 0;
  const { inputHash, output } = await analyzeOnce(
    { store, python: config.python },
    { experimentId: id, input, exploratory: !isOpen || input.cells.some((cell) => cell.exploratory) },
  );
  const analysis = isOpen ? output : withoutScores(output);
  const looks = await store.experimentRecords.listLooks(id);
  return { record, analysis, inputHash, looks, flips: await readFlips(pool, record, analysis) };
}

/** Removes everything that is made of scores: before a declared look nobody reads a difference. */
export const withoutScores = (output: AnalysisOutput): AnalysisOutput => ({
  ...output,
  arms: [],
  ordering: null,
  breakdown: [],
  curves: [],
  power: [],
  conditionalPower: null,
  wonAndLost: [],
  contrasts: output.contrasts.map(({ contrast, plus, minus, kind, seeds, reasons, verdict }) => ({
    contrast,
    plus,
    minus,
    kind,
    differences: [],
    difference: null,
    sd: null,
    seeds,
    low: null,
    high: null,
    low90: null,
    high90: null,
    p: null,
    adjustedP: null,
    signFlipP: null,
    equivalenceP: null,
    effectSize: null,
    probability: null,
    probabilityLow: null,
    probabilityHigh: null,
    detectable: null,
    seedsNeeded: null,
    verdict: 'invalid' as const,
    reasons: verdict === 'invalid' ? reasons : ['the look is not complete: its differences are not shown'],
  })),
});
