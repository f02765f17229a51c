import type { Command } from 'commander';
import { required } from '../../errors/errors';
import { migrate } from '../../store/database/migrate';
import { printResult } from '../output/output';
import { currentConfig } from '../../client/connections';

/** `coevolve migrate`: applies the missing migrations; concurrent calls wait for each other. */
export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('apply the missing database migrations; safe to repeat')
    .option('--json', 'print the applied migrations as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { databaseUrl, projectRoot } = currentConfig();
      const applied = await migrate(required(databaseUrl, 'database', 'DATABASE_URL'), projectRoot);
      printResult(json, { applied }, () => applied.join('\n') || 'the schema is up to date');
    });
}
