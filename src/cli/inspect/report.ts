import type { Command } from 'commander';
import { collectReport, renderReport } from '../../report/campaign/campaign-report';
import { printResult } from '../output/output';
import { withConnections } from '../../client/connections';

/** `coevolve report <campaign>`: writes the HTML report of the current state and prints its path. */
export function addReport(program: Command): void {
  program
    .command('report <campaign>')
    .description('write the HTML report of a campaign')
    .option('--json', 'print the path as JSON')
    .action((name: string, { json }: { json?: boolean }) =>
      withConnections(async ({ pool, store, artifacts }) => {
        const { id } = await store.campaigns.getByName(name);
        const path = await artifacts.saveReport(name, renderReport(await collectReport(pool, id)));
        printResult(json, { path }, () => path);
      }),
    );
}
