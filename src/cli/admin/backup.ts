import path from 'node:path';
import type { Command } from 'commander';
import { writeBackup } from '../../store/backup/backup';
import { printResult, say } from '../base/output';
import { withSession } from '../../client/session';

/** `coevolve backup <folder>`: every row as of one moment, while campaigns go on. */
export function addBackup(program: Command): void {
  program
    .command('backup <folder>')
    .description('write every row of the database into a new folder, as of one moment; campaigns may go on')
    .option('--artifacts', 'copy the policies and datasets that the rows refer to as well')
    .option('--json', 'print what was written as JSON')
    .action((folder: string, { artifacts = false, json }: { artifacts?: boolean; json?: boolean }) =>
      withSession(async ({ pool, config }) => {
        const place = { folder: path.resolve(folder), artifactsRoot: config.artifacts, withArtifacts: artifacts };
        const manifest = await writeBackup(pool, place);
        const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
        const { files, missing } = manifest.artifacts;
        if (missing.length > 0) say(`rows refer to artifacts that are not there: ${missing.join(', ')}`);
        if (!artifacts) say(`the artifacts stay where they are, in ${config.artifacts}; --artifacts copies them too`);
        const written = {
          folder: place.folder,
          campaigns: manifest.campaigns.length,
          rows,
          files: files.length,
          missing,
        };
        printResult(json, written, () => `${place.folder}: ${manifest.campaigns.length} campaigns, ${rows} rows`);
      }),
    );
}
