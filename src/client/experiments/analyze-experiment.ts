import { analysisOutput, type AnalysisOutput } from '../../statistics/analysis-output';
import { completenessOf, earlyCells } from '../../domain/experiment/record';
import { analysisInput } from '../../statistics/analysis-input';
import type { ExperimentReport } from '../../report/experiment';
import { readFlips } from '../../report/experiment/flipped-tasks';
import { forEachKey } from '../../statistics/contrast-columns';
import { analyzeOnce } from '../../statistics/run-statistics';
import type { Connections } from '../connections';
import { defaultLook, requireLook } from './analyze-table';

export type LookRequest = {
  /** Number of seeds, or null for the largest complete look. */
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
  const { id, ...stored } = await store.experimentRecords.get(name);
  const look = at ?? defaultLook(stored);
  if (!exploratory) requireLook(stored, look);
  const input = analysisInput(stored, look);
  const isOpen = stored.experiment.looks.includes(look) && completenessOf(stored, look).missing.length === 0;
  const { inputHash, output } = await analyzeOnce(
    { store, python: config.python },
    { experimentId: id, input, exploratory: !isOpen || earlyCells(stored, look).length > 0 },
  );
  const analysis = isOpen ? output : withoutScores(output);
  const record = { ...stored, looks: await store.experimentRecords.listLooks(id) };
  return { record, analysis, inputHash, flips: await readFlips(pool, record, analysis) };
}

/**
 * Returns the parts of an analysis that are made of completeness and effort alone: before a declared look nobody reads a
 * difference. It is a list of what is shown, so that a new part or statistic stays hidden.
 */
export const withoutScores = ({ version, look, level, broken, effort, contrasts }: AnalysisOutput): AnalysisOutput => ({
  version,
  look,
  level,
  broken,
  replicas: [],
  alike: [],
  effort,
  arms: [],
  ordering: null,
  breakdown: [],
  curves: [],
  power: [],
  conditionalPower: null,
  wonAndLost: [],
  contrasts: contrasts.map(({ contrast, plus, minus, kind, seeds, reasons, verdict }) => ({
    contrast,
    plus,
    minus,
    kind,
    seeds,
    differences: [],
    ...forEachKey(null),
    verdict: 'invalid',
    companion: null,
    reasons: verdict === 'invalid' ? reasons : ['the look is not complete: its differences are not shown'],
  })),
});

/**
 * Returns the report of the newest stored look, or null before the first. It takes no look itself, and an exploratory one is
 * not shown.
 *
 * @throws DomainError `UnknownExperiment`
 */
export async function readNewestReport(
  { pool, store }: Pick<Connections, 'pool' | 'store'>,
  name: string,
): Promise<ExperimentReport | null> {
  const { id, ...stored } = await store.experimentRecords.get(name);
  const taken = (await store.analyses.list(id)).findLast(({ exploratory }) => !exploratory);
  const known = analysisOutput.safeParse(taken?.output);
  if (!taken || !known.success) return null;
  const record = { ...stored, looks: await store.experimentRecords.listLooks(id) };
  return { record, analysis: known.data, inputHash: taken.inputHash, flips: await readFlips(pool, record, known.data) };
}
