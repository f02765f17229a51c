import type { Command } from 'commander';
import { startExperiment, type StartedExperiment } from '../../client/experiments/start-experiment';
import { withSession } from '../../client/session';
import { printMessage, printResult } from '../base/output';
import { integerIn } from '../data/experts-table';

type Options = { seeds?: number; json?: boolean };

/** `coevolve experiment start|extend <name>`: plays the cells without a result. */
export function addStart(group: Command): void {
  group
    .command('start <name>')
    .description('play the cells of a frozen experiment; safe to repeat')
    .option('--seeds <number>', 'stop after these seeds, a declared look', integerIn(1, 10_000))
    .option('--json', 'print the result as JSON')
    .action(start);
  group
    .command('extend <name>')
    .description('play on to a later declared look')
    .requiredOption('--seeds <number>', 'seeds of each arm, a declared look', integerIn(1, 10_000))
    .option('--json', 'print the result as JSON')
    .action(start);
}

const start = (name: string, { seeds, json }: Options): Promise<void> =>
  withSession(async (session) => {
    const onUnchecked = (line: string): void => printMessage(`not checked: ${line}`);
    const result = await startExperiment(session, name, { seeds, onUnchecked });
    printMessage(outcomeText(name, result));
    printResult(json, result, () => result.workflowId);
  });

function outcomeText(name: string, { outcome, seeds }: StartedExperiment): string {
  const follow = `follow it with \`coevolve experiment status ${name} --watch\``;
  if (outcome === 'started') return `started with ${seeds} seeds; ${follow}`;
  if (outcome === 'joined') return `${name} runs already; ${follow}`;
  return `${name}: every cell of ${seeds} seeds has a result; see \`coevolve experiment status ${name}\``;
}
