import type { Config } from '../../config';
import { completeLook, completenessOf, type ExperimentRecord } from '../../domain/experiment/record';
import { analysisInput } from '../../statistics/analysis-input';
import type { ExperimentReport } from '../../report/experiment';
import { UsageError } from '../../errors/errors';
import { analysisKey, runStatistics } from '../../statistics/run-statistics';
import { readTable } from './read-table';
import { cellLabel } from '../../domain/experiment/experiment';

/** Analyses an exported table without a database, so that others can check the statistics. */
export async function analyzeTable(
  config: Pick<Config, 'python'>,
  file: string,
  at: number | null,
): Promise<ExperimentReport> {
  const record = await readTable(file);
  return analyzeRecord(config, record, at ?? defaultLook(record));
}

/** Analyses an exported table at a look. */
export async function analyzeRecord(
  config: Pick<Config, 'python'>,
  record: ExperimentRecord,
  look: number,
): Promise<ExperimentReport> {
  const input = analysisInput(record, look);
  const analysis = await runStatistics(config, input);
  return { record, analysis, inputHash: analysisKey(input), flips: [] };
}

/** Returns the largest complete look; without one, the first: its missing cells then make the contrasts invalid. */
export const defaultLook = (record: ExperimentRecord): number => completeLook(record) ?? record.experiment.looks[0]!;

/**
 * Refuses a look that was not declared, or whose cells have not all finished.
 *
 * @throws UsageError with the seeds found and expected, and the next command
 */
export function requireLook(record: ExperimentRecord, look: number): void {
  const { name, looks } = record.experiment;
  const next = `\`coevolve experiment analyze ${name} --exploratory\` shows completeness and effort`;
  if (!looks.includes(look))
    throw new UsageError(`--at: found ${look}, expected a declared look: ${looks.join(' or ')}; ${next}`);
  const { expected, finished, missing } = completenessOf(record, look);
  if (missing.length === 0) return;
  const shown = missing.slice(0, 3).map((cell) => `${cellLabel(cell)} (${cell.reason})`);
  const more = missing.length > 3 ? ` and ${missing.length - 3} more` : '';
  throw new UsageError(
    `cells of look ${look}: found ${finished} finished, expected ${expected}; missing: ${shown.join(', ')}${more}; ${next}`,
  );
}
