import type { Command } from 'commander';
import { UsageError } from '../../errors/errors';
import { deleteCampaign } from '../../client/delete-campaign';
import { withConnections } from '../../client/connections';
import { printMessage, printResult } from '../output/output';

/** `coevolve delete <campaign>` */
export function addDelete(program: Command): void {
  program
    .command('delete <campaign>')
    .description('delete an ended campaign with all of its rows')
    .option('--yes', 'confirm: there is no way back without a backup')
    .option('--json', 'print the result as JSON')
    .action((name: string, { yes, json }: { yes?: boolean; json?: boolean }) => {
      if (!yes)
        throw new UsageError(
          `delete: found no --yes, expected it: all rows of ${name} are lost; \`coevolve delete ${name} --yes\` deletes them`,
        );
      return withConnections(async (connections) => {
        await deleteCampaign(connections, name);
        printResult(json, { deleted: name }, () => `deleted ${name}`);
        printMessage('`coevolve gc` lists the artifacts without rows');
      });
    });
}
