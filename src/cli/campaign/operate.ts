import type { Command } from 'commander';
import { sendOperatorCommand, type CommandResult } from '../../client/send-command';
import { withConnections, type Connections } from '../../client/connections';
import { campaignCommands, type CampaignCommandName } from '../../domain/campaign/operator-commands';
import { UsageError } from '../../errors/errors';
import { printResult, printMessage } from '../output/output';

type Options = { reason?: string; all?: boolean; json?: boolean };

/** `coevolve pause|resume|retry|skip|stop|abort <campaign>`: each is safe to repeat. */
export function addOperatorCommands(program: Command): void {
  for (const command of Object.keys(campaignCommands) as CampaignCommandName[]) {
    const added = program
      .command(`${command} ${command === 'resume' ? '[campaign]' : '<campaign>'}`)
      .description(campaignCommands[command].description)
      .option('--reason <text>', 'reason for the event log')
      .option('--json', 'print the new state as JSON')
      .action((name: string | undefined, { reason, all, json }: Options) =>
        withConnections(async (connections) => {
          const names = await namesOf(connections, name, all);
          const results: CommandResult[] = [];
          for (const each of names)
            results.push(await sendOperatorCommand(connections, each, command, { reason, onProgress: printMessage }));
          const lines = (): string => results.map((result) => `${result.name}: ${resultText(result)}`).join('\n');
          printResult(json, all ? results : results[0], () => lines() || 'no campaign is parked');
        }),
      );
    if (command === 'resume') added.option('--all', 'every parked campaign; a paused one stays paused');
  }
}

async function namesOf({ store }: Connections, name: string | undefined, all = false): Promise<string[]> {
  if (all === (name !== undefined))
    throw new UsageError(`resume: found ${all ? 'a campaign and --all' : 'neither'}, expected a campaign or --all`);
  if (name !== undefined) return [name];
  return (await store.campaigns.list()).filter(({ status }) => status === 'parked').map((campaign) => campaign.name);
}

function resultText(result: CommandResult): string {
  if (!('progress' in result)) return 'was aborted before';
  const { stopping, status, abortedBy } = result;
  if (status === 'aborted') return status;
  if (abortedBy !== undefined) return `${status}, is being aborted by ${abortedBy}`;
  return stopping ? `${status}, ends after this iteration` : status;
}
