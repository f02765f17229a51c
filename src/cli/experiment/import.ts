import { resolve } from 'node:path';
import type { Command } from 'commander';
import { importCells } from '../../client/experiments/import-cells';
import { withConnections } from '../../client/connections';
import { shortHash } from '../../domain/formats';
import { printResult } from '../output/output';

/** `coevolve experiment import <name> <file>` */
export function addImport(group: Command): void {
  group
    .command('import <name> <file>')
    .description('store finished cells of an exported .jsonl file')
    .option('--json', 'print the result as JSON')
    .action((name: string, file: string, { json }: { json?: true }) =>
      withConnections(async (connections) => {
        const result = await importCells(connections, name, resolve(file));
        printResult(
          json,
          result,
          () =>
            `${result.imported.length} cells imported with ${result.scores} scores, ` +
            `${result.present.length} already present, ${result.skipped.length} without a result` +
            (result.otherCommit === null
              ? ''
              : `\nplayed with commit ${shortHash(result.otherCommit)}: other code may give a rerun another hash`),
        );
      }),
    );
}
