import { resolve } from 'node:path';
import type { Command } from 'commander';
import { writeAtomically } from '../../files/atomic-write';
import { combineTables } from '../../client/experiments/combine-tables';
import { currentConfig } from '../../client/connections';
import { combinedArmsTable, combinedTable, renderCombined } from '../../report/experiment';
import { writeTerminal } from '../../tables/terminal-table';
import { printResult } from '../output/output';
import { seedCount } from './analyze';

type Flags = { at?: number; out: string; json?: true };

/** `coevolve experiment combine <tables...>` */
export function addCombine(group: Command): void {
  group
    .command('combine <tables...>')
    .description('show arms over three or more environments, from exported .jsonl tables of one experiment each')
    .option('--at <seeds>', 'look that all of them declare, in seeds (default: largest complete)', seedCount)
    .option('--out <file>', 'file of the page', 'combined.html')
    .option('--json', 'print the measures as JSON')
    .action(async (tables: string[], { at, out, json }: Flags) => {
      const combined = await combineTables(currentConfig(), tables.map((file) => resolve(file)), at ?? null); // oxfmt-ignore
      const path = resolve(out);
      await writeAtomically(path, renderCombined(combined));
      printResult(json, { ...combined, path }, () =>
        [combinedTable(combined.experiments), combinedArmsTable(combined.arms)]
          .map(writeTerminal)
          .concat(path)
          .join('\n\n'),
      );
    });
}
