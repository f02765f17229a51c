import path from 'node:path';
import type { Command } from 'commander';
import { writeBackup } from '../../store/backup/backup';
import { printResult, printMessage } from '../output/output';
import { withConnections } from '../../client/connections';

/** `coevolve backup <folder>`: writes a snapshot of all rows while campaigns continue. */
export function addBackup(program: Command): void {
  program
    .command('backup <folder>')
    .description('write a database snapshot to a new folder; campaigns may run')
    .option('--artifacts', 'also copy the referenced policies and datasets')
    .option('--json', 'print the result as JSON')
    .action((folder: string, { artifacts = false, json }: { artifacts?: boolean; json?: boolean }) =>
      withConnections(async ({ pool, config }) => {
        const target = { folder: path.resolve(folder), artifactsRoot: config.artifacts, withArtifacts: artifacts };
        const manifest = await writeBackup(pool, target);
        const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
        const { files, missing } = manifest.artifacts;
        if (missing.length > 0) printMessage(`artifacts that rows refer to are missing: ${missing.join(', ')}`);
        if (!artifacts) printMessage(`the artifacts in ${config.artifacts} are not copied; --artifacts copies them`);
        const written = {
          folder: target.folder,
          campaigns: manifest.campaigns.length,
          rows,
          files: files.length,
          missing,
        };
        printResult(json, written, () => `${target.folder}: ${manifest.campaigns.length} campaigns, ${rows} rows`);
      }),
    );
}
