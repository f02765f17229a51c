import path from 'node:path';
import type { Command } from 'commander';
import { hasEnded, type CampaignStatus } from '../../store/campaign/campaigns';
import { restoreBackup } from '../../store/backup/restore';
import { printResult, printMessage } from '../output/output';
import { withConnections } from '../../client/connections';

/** `coevolve restore <folder>`: restores a backup into an empty database. */
export function addRestore(program: Command): void {
  program
    .command('restore <folder>')
    .description('restore a backup into an empty database of the same schema')
    .option('--json', 'print the result as JSON')
    .action((folder: string, { json }: { json?: boolean }) =>
      withConnections(async ({ pool, config }) => {
        const source = { folder: path.resolve(folder), artifactsRoot: config.artifacts };
        const { manifest, missingArtifacts } = await restoreBackup(pool, source);
        const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
        const unfinished = manifest.campaigns.filter(({ status }) => !hasEnded(status as CampaignStatus));
        if (missingArtifacts.length > 0)
          printMessage(
            `${missingArtifacts.length} files that rows refer to are missing in ${config.artifacts}; copy them from ${manifest.artifactsRoot}`,
          );
        if (unfinished.length > 0)
          printMessage('continue campaigns that have not ended with `coevolve reconcile --all`');
        const restored = {
          takenAt: manifest.takenAt,
          campaigns: manifest.campaigns.length,
          rows,
          missingArtifacts,
          unfinished: unfinished.map(({ name }) => name),
        };
        printResult(
          json,
          restored,
          () => `${manifest.campaigns.length} campaigns, ${rows} rows of ${manifest.takenAt}`,
        );
      }),
    );
}
