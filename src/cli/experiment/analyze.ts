import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../../errors/errors';
import { analyzeExperiment } from '../../client/experiments/analyze-experiment';
import { analyzeTable } from '../../client/experiments/analyze-table';
import { currentConfig, withConnections } from '../../client/connections';
import type { ExperimentReport } from '../../report/experiment';
import { printResult } from '../output/output';
import { analysisJson, analysisText } from './analysis-text';

type Flags = { at?: number; table?: string; exploratory?: true; json?: true };

export type AnalyzedFlags = Pick<Flags, 'at' | 'table' | 'exploratory'>;

/** `coevolve experiment analyze [name]` */
export function addAnalyze(group: Command): void {
  group
    .command('analyze [name]')
    .description('test the contrasts at a declared look; print the verdicts')
    .option('--at <seeds>', 'declared look in seeds (default: largest complete)', seedCount)
    .option('--exploratory', 'show completeness and effort at any look, no differences')
    .option('--table <file>', 'analyse an exported table (.jsonl, .gz, .br), without a database')
    .option('--json', 'print the analysis as JSON')
    .action(async (name: string | undefined, flags: Flags) => {
      const report = await analyzed(name, flags);
      printResult(flags.json, analysisJson(report), () => analysisText(report));
    });
}

/**
 * Analyses an experiment of the database, or an exported table without one.
 *
 * @throws UsageError unless one of both is given
 */
export async function analyzed(name: string | undefined, flags: AnalyzedFlags): Promise<ExperimentReport> {
  const { table, at = null, exploratory = false } = flags;
  if (table !== undefined && name !== undefined)
    throw new UsageError(`name: found "${name}" beside --table, expected one of both; leave the name out`);
  if (table !== undefined) return analyzeTable(currentConfig(), resolve(table), at);
  if (name === undefined)
    throw new UsageError('name: found nothing, expected an experiment, or a file with --table; see `--help`');
  return withConnections((connections) => analyzeExperiment(connections, name, { at, exploratory }));
}

export function seedCount(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1) return number;
  throw new InvalidArgumentError(`found "${text}", expected a number of seeds >= 1.`);
}
