import type { Command } from 'commander';
import { listCampaigns, type ListedCampaign } from '../../client/campaign-status';
import { withConnections } from '../../client/connections';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { asCalled } from '../output/called-name';
import { printMessage, printResult } from '../output/output';
import { properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

/** `coevolve list` */
export function addList(program: Command): void {
  program
    .command('list')
    .description('list all campaigns')
    .option('--json', 'print the campaigns as JSON')
    .action(({ json }: { json?: boolean }) =>
      withConnections(async (connections) => {
        const { campaigns, unchecked } = await listCampaigns(connections);
        if (unchecked) printMessage(`statuses are those of the database, not compared with Temporal: ${unchecked}`);
        printResult(json, campaigns, () => [campaignTable(campaigns), ...campaigns.flatMap(problemText)].join('\n'));
      }),
    );
}

const campaignTable = (campaigns: readonly ListedCampaign[]): string =>
  terminalTable(campaigns, [
    ...properties('name', 'status', 'recipe', 'environment'),
    text('seed', (c) => c.seed),
    text('started', (c) => c.createdAt.toISOString()),
    text('forked from', forkOrigin),
  ]);

function problemText({ name, problem, hasPausedWork, parkedCode }: ListedCampaign): string[] {
  if (problem) return [`${name} is ${problem.status}: ${problem.what}; ${asCalled(problem.next)}`];
  if (parkedCode) return [`${name} is parked by ${parkedCode}; ${asCalled(`see \`coevolve status ${name}\``)}`];
  if (!hasPausedWork) return [];
  return [`${name} waits for an activity that was paused in Temporal; ${asCalled(`see \`coevolve status ${name}\``)}`];
}
