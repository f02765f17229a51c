import type { Command } from 'commander';
import { listCampaigns, type ListedCampaign } from '../../client/campaign-status';
import { withSession } from '../../client/session';
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
      withSession(async (session) => {
        const { campaigns, unchecked } = await listCampaigns(session);
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
