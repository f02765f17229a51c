import type { Command } from 'commander';
import { listCampaigns } from '../../client/campaign-status';
import { withSession } from '../../client/session';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { printResult, table } from '../base/output';

/** `coevolve list` */
export function addList(program: Command): void {
  program
    .command('list')
    .description('list all campaigns')
    .option('--json', 'print the campaigns as JSON')
    .action(({ json }: { json?: boolean }) =>
      withSession(async (session) => {
        const campaigns = await listCampaigns(session);
        const header = ['name', 'status', 'recipe', 'environment', 'seed', 'started', 'forked from'];
        const rows = campaigns.map((c) => [
          ...[c.name, c.status, c.recipe, c.environment, c.seed, c.createdAt.toISOString(), forkOrigin(c)],
        ]);
        printResult(json, campaigns, () => table(header, rows));
      }),
    );
}
