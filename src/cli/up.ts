import type { Command } from 'commander';
import { readConfig } from '../config';
import { migrate } from '../store/migrate';
import { stackStatus, stackUp } from '../stack';

/** `coevolve up` brings the embedded stack up; what runs already is left alone. */
export function addUp(program: Command): void {
  program
    .command('up')
    .description('start the embedded stack: database, Temporal, environments, policies, workers; safe to repeat')
    .option('--json', 'print what runs as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const config = readConfig();
      const filled = await stackUp(config, {
        onProgress: (line) => process.stderr.write(`${line}\n`),
        beforeWorkers: async ({ databaseUrl, projectRoot }) => {
          const applied = databaseUrl ? await migrate(databaseUrl, projectRoot) : [];
          if (applied.length > 0) process.stderr.write(`database: ${applied.length} migrations applied\n`);
        },
      });
      const { uiUrl, address } = filled.temporal;
      const result = { home: filled.home, temporalUi: uiUrl, temporal: address, services: stackStatus(config) };
      const text = uiUrl ? `Temporal UI: ${uiUrl}` : `Temporal: ${address}`;
      process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : `${text}\n`);
    });
}
