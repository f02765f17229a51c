import { sha256 } from '../files/sha256';
import type { Config } from '../config';
import { canonicalJson } from '../domain/canonical-json';
import type { AnalysisInput } from './analysis-input';
import type { Store } from '../store';
import { analysisOutput, type AnalysisOutput } from './analysis-output';
import { runPython } from './run-python';

/** Returns the key of an analysis: equal inputs have equal keys, and give equal outputs. */
export const analysisKey = (input: AnalysisInput): string => sha256(canonicalJson(input));

/**
 * Analyses the long table of an experiment: arms, contrasts with their verdicts, effort, curves (docs/statistics.md).
 *
 * @throws DomainError `InvalidAnalysis` with the field, the value found and the value expected
 * @throws StackError  if the Python packages are not installed
 */
export const runStatistics = (config: Pick<Config, 'python'>, input: AnalysisInput): Promise<AnalysisOutput> =>
  runPython(config, [], input, analysisOutput);

export type AnalysisRequest = { experimentId: number; input: AnalysisInput; exploratory: boolean };

/**
 * Returns the stored analysis of the same input, or analyses and stores it. An analysis that was stored before a statistic
 * was added lacks its column, and is made again.
 */
export async function analyzeOnce(
  { store, python }: { store: Pick<Store, 'analyses'>; python: string },
  { experimentId, input, exploratory }: AnalysisRequest,
): Promise<{ inputHash: string; output: AnalysisOutput }> {
  const inputHash = analysisKey(input);
  const stored = await store.analyses.find(experimentId, inputHash);
  const known = analysisOutput.safeParse(stored?.output);
  if (known.success) return { inputHash, output: known.data };
  const output = await runStatistics({ python }, input);
  if (!stored) await store.analyses.save({ experimentId, inputHash, look: input.look, exploratory, output });
  return { inputHash, output };
}
