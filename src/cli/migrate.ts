import type { Command } from 'commander';
import { migrate } from '../store/migrate';
import { printResult } from './output';
import { currentConfig } from './session';

/** `coevolve migrate` brings the database to the newest schema; two at once do no harm. */
export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the database to the newest schema; safe to repeat')
    .option('--json', 'print the applied migrations as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { databaseUrl, projectRoot } = currentConfig();
      if (!databaseUrl) throw new Error('no database is known: start one with `coevolve up`, or set DATABASE_URL');
      const applied = await migrate(databaseUrl, projectRoot);
      printResult(json, { applied }, () => applied.join('\n') || 'the schema is up to date');
    });
}
