import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { exportExperiment } from '../../client/experiments/export-experiment';
import { withConnections } from '../../client/connections';
import { exportFormats, type ExportFormat } from '../../report/experiment';
import { listOf } from '../arguments/list-of';
import { printResult } from '../output/output';

type Flags = { format: ExportFormat[]; cells?: string[]; output: string; json?: true };

/** `coevolve experiment export <name>` */
export function addExport(group: Command): void {
  group
    .command('export <name>')
    .description('write long table, tables of arms and contrasts, and cells')
    .requiredOption('--format <formats>', `comma-separated: ${exportFormats.join(', ')}`, formatsOf)
    .option('--cells <cells>', 'only these cells, for example signals-s1,random-s1', listOf)
    .option('--output <folder>', 'folder of the files', '.')
    .option('--json', 'print the paths as JSON')
    .action((name: string, { format, cells, output, json }: Flags) =>
      withConnections(async (connections) => {
        const folder = resolve(output);
        const files = await exportExperiment(connections, name, { formats: format, cells: cells ?? null, folder });
        printResult(json, { files }, () => files.join('\n'));
      }),
    );
}

function formatsOf(text: string): ExportFormat[] {
  return listOf(text).map((part) => {
    const format = exportFormats.find((name) => name === part);
    if (format === undefined)
      throw new InvalidArgumentError(`found "${part}", expected some of ${exportFormats.join(', ')}.`);
    return format;
  });
}
