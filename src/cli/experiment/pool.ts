import { resolve } from 'node:path';
import type { Command } from 'commander';
import { currentConfig } from '../../client/connections';
import { poolTables } from '../../client/experiments/pool-tables';
import { writeAtomically } from '../../files/atomic-write';
import { pooledMarkdown, pooledSentence, pooledTables, renderPooled } from '../../report/experiment';
import { writeTerminal } from '../../tables/terminal-table';
import { printResult } from '../output/output';

type Flags = { contrast?: string; out: string; json?: true };

/** `coevolve experiment pool <tables...>` */
export function addPool(group: Command): void {
  group
    .command('pool <tables...>')
    .description('pool one contrast over exported tables: <table>, or <table>=<contrast> for other names of the arms')
    .option('--contrast <contrast>', 'contrast of the tables that name none, such as "signals - random"')
    .option('--out <file>', 'file of the page; Markdown if it ends in .md', 'pooled.html')
    .option('--json', 'print the result as JSON')
    .action(async (tables: string[], { contrast, out, json }: Flags) => {
      const files = tables.map((table) => resolve(table));
      const pooled = await poolTables(currentConfig(), files, contrast ?? null);
      const path = resolve(out);
      await writeAtomically(path, path.endsWith('.md') ? pooledMarkdown(pooled) : renderPooled(pooled));
      printResult(json, { ...pooled, path }, () =>
        [pooledSentence(pooled), ...pooledTables(pooled).map(writeTerminal), path].join('\n\n'),
      );
    });
}
