import { resolve } from 'node:path';
import type { Command } from 'commander';
import { writeAtomically } from '../../files/atomic-write';
import { renderExperiment } from '../../report/experiment';
import { printResult } from '../output/output';
import { analyzed, type AnalyzedFlags, seedCount } from './analyze';

type Flags = AnalyzedFlags & { out?: string; json?: true };

/** `coevolve experiment report [name]` */
export function addReport(group: Command): void {
  group
    .command('report [name]')
    .description('write the HTML report of an analysed experiment')
    .option('--at <seeds>', 'declared look in seeds (default: largest complete)', seedCount)
    .option('--exploratory', 'also an incomplete look: completeness and effort only')
    .option('--table <file>', 'report on an exported table (.jsonl, .gz, .br), without a database')
    .option('--out <file>', 'file of the page (default: <name>.html)')
    .option('--json', 'print the path as JSON')
    .action(async (name: string | undefined, { out, json, ...flags }: Flags) => {
      const report = await analyzed(name, flags);
      const path = resolve(out ?? `${report.record.experiment.name}.html`);
      await writeAtomically(path, renderExperiment(report));
      printResult(json, { path }, () => path);
    });
}
