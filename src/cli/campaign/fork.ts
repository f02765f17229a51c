import { InvalidArgumentError, type Command } from 'commander';
import { startFork, type StartedFork } from '../../client/fork-campaign';
import { withConnections } from '../../client/connections';
import { printResult, printMessage } from '../output/output';

type Options = { fromIteration: number; name: string; set: string[]; json?: boolean };

/** `coevolve fork <campaign>`: starts a campaign that continues from an iteration of another; safe to repeat. */
export function addFork(program: Command): void {
  program
    .command('fork <campaign>')
    .description('start a campaign from a finished iteration of another')
    .requiredOption('--from-iteration <k>', 'last iteration to copy; 0: the supervised start', iterationNumber)
    .requiredOption('--name <name>', 'name of the fork')
    .option('--set <change...>', 'changes of the spec, such as training.dpo.beta=0.2', [])
    .option('--json', 'print the result as JSON')
    .action((source: string, { fromIteration: iteration, name, set: changes, json }: Options) =>
      withConnections(async (connections) => {
        const fork = await startFork(connections, source, { iteration, name, changes });
        printMessage(`${outcomeTexts[fork.outcome]}; follow it with \`coevolve status ${name} --watch\``);
        printResult(json, fork, () => fork.workflowId);
      }),
    );
}

const outcomeTexts: Record<StartedFork['outcome'], string> = {
  started: 'started',
  joined: 'the fork exists and runs',
  ended: 'the fork exists and has ended',
};

function iterationNumber(text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected the number of an iteration, 0 for the supervised start.');
}
