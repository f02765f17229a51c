import type { Command } from 'commander';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { printResult, table } from '../base/output';
import { withSession } from '../../client/session';

/** `coevolve list` lists all campaigns. */
export function addList(program: Command): void {
  program
    .command('list')
    .description('list the campaigns')
    .option('--json', 'print them as JSON')
    .action(({ json }: { json?: boolean }) =>
      withSession(async ({ store }) => {
        const campaigns = (await store.campaigns.list()).map(({ spec, ...row }) => row);
        const rows = campaigns.map((c) => [
          c.name,
          c.status,
          c.recipe,
          c.environment,
          c.seed,
          c.createdAt.toISOString(),
          forkOrigin(c),
        ]);
        printResult(json, campaigns, () =>
          table(['name', 'status', 'recipe', 'environment', 'seed', 'started', 'forked from'], rows),
        );
      }),
    );
}
