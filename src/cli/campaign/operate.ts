import type { Command } from 'commander';
import { sendOperatorCommand, type CommandResult } from '../../client/send-command';
import { withConnections } from '../../client/connections';
import { campaignCommands, type CampaignCommandName } from '../../domain/campaign/operator-commands';
import { printResult, printMessage } from '../output/output';

type Options = { reason?: string; json?: boolean };

/** `coevolve pause|resume|retry|skip|stop|abort <campaign>`: each is safe to repeat. */
export function addOperatorCommands(program: Command): void {
  for (const command of Object.keys(campaignCommands) as CampaignCommandName[])
    program
      .command(`${command} <campaign>`)
      .description(campaignCommands[command].description)
      .option('--reason <text>', 'reason for the event log')
      .option('--json', 'print the new state as JSON')
      .action((name: string, { reason, json }: Options) =>
        withConnections(async (connections) => {
          const result = await sendOperatorCommand(connections, name, command, { reason, onProgress: printMessage });
          printResult(json, result, () => `${name}: ${resultText(result)}`);
        }),
      );
}

function resultText(result: CommandResult): string {
  if (!('progress' in result)) return 'was aborted before';
  const { stopping, status, abortedBy } = result;
  if (status === 'aborted') return status;
  if (abortedBy !== undefined) return `${status}, is being aborted by ${abortedBy}`;
  return stopping ? `${status}, ends after this iteration` : status;
}
