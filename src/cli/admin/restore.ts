import path from 'node:path';
import type { Command } from 'commander';
import { hasEnded, type CampaignStatus } from '../../store/campaign/campaigns';
import { restoreBackup } from '../../store/backup/restore';
import { printResult, say } from '../base/output';
import { withSession } from '../../client/session';

/** `coevolve restore <folder>`: a backup into an empty database. */
export function addRestore(program: Command): void {
  program
    .command('restore <folder>')
    .description('put a backup into an empty database of the same schema')
    .option('--json', 'print what was restored as JSON')
    .action((folder: string, { json }: { json?: boolean }) =>
      withSession(async ({ pool, config }) => {
        const place = { folder: path.resolve(folder), artifactsRoot: config.artifacts };
        const { manifest, missingArtifacts } = await restoreBackup(pool, place);
        const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
        const unfinished = manifest.campaigns.filter(({ status }) => !hasEnded(status as CampaignStatus));
        if (missingArtifacts.length > 0)
          say(
            `${missingArtifacts.length} files that the rows refer to are not in ${config.artifacts}; copy them there from ${manifest.artifactsRoot}`,
          );
        if (unfinished.length > 0) say('campaigns that had not ended go on with `coevolve reconcile --all`');
        const restored = {
          ...{ takenAt: manifest.takenAt, campaigns: manifest.campaigns.length, rows, missingArtifacts },
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
