import type { Command } from 'commander';
import { listCampaigns, type ListedCampaign } from '../../client/campaign-status';
import { withConnections } from '../../client/connections';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { asCalled } from '../output/called-name';
import { printMessage, printResult, table } from '../output/output';

/** `coevolve list` */
export function addList(program: Command): void {
  program
    .command('list')
    .description('list all campaigns')
    .option('--json', 'print the campaigns as JSON')
    .action(({ json }: { json?: boolean }) =>
      withConnections(async (connections) => {
        const { campaigns, unchecked } = await listCampaigns(connections);
        const header = ['name', 'status', 'recipe', 'environment', 'seed', 'started', 'forked from'];
        const rows = campaigns.map((c) => [
          c.name,
          c.status,
          c.recipe,
          c.environment,
          c.seed,
          c.createdAt.toISOString(),
          forkOrigin(c),
        ]);
        if (unchecked) printMessage(`statuses are those of the database, not compared with Temporal: ${unchecked}`);
        printResult(json, campaigns, () => [table(header, rows), ...campaigns.flatMap(problemText)].join('\n'));
      }),
    );
}

function problemText({ name, problem, hasPausedWork }: ListedCampaign): string[] {
  if (problem) return [`${name} is ${problem.status}: ${problem.what}; ${asCalled(problem.next)}`];
  if (!hasPausedWork) return [];
  return [`${name} waits for an activity that was paused in Temporal; ${asCalled(`see \`coevolve status ${name}\``)}`];
}
