import type { Command } from 'commander';
import { sendOperatorCommand, type CommandResult, type OperatorCommand } from '../../client/operator-commands';
import { withConnections } from '../../client/connections';
import { printResult, printMessage } from '../output/output';

const descriptions: Record<OperatorCommand, string> = {
  pause: 'pause a campaign; started activities finish and are kept',
  resume: 'resume a paused campaign or retry a parked one',
  retry: 'retry the phase of a parked campaign now',
  skip: 'continue a parked campaign without its phase, if possible',
  stop: 'end a campaign after its iteration, a parked one immediately',
  abort: 'cancel all work of a campaign and end it; rows are kept',
};

type Options = { reason?: string; json?: boolean };

/** `coevolve pause|resume|retry|skip|stop|abort <campaign>`: each is safe to repeat. */
export function addOperatorCommands(program: Command): void {
  for (const [command, description] of Object.entries(descriptions) as [OperatorCommand, string][])
    program
      .command(`${command} <campaign>`)
      .description(description)
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
