import type { Command } from 'commander';
import { startExperiment, type StartedExperiment } from '../../client/experiments/start-experiment';
import { startFile } from '../../client/experiments/start-file';
import { currentConfig, withConnections } from '../../client/connections';
import { loadForEnvironment } from '../../client/experiments/load-for-environment';
import { printChosen } from '../output/print-chosen';
import { printMessage, printResult } from '../output/output';
import { integerIn } from '../arguments/integer';

type Options = { profile?: string; amend?: boolean; seeds?: number; json?: boolean };

/** `coevolve experiment start <file|name>`, `extend <name>`: plays the cells without a result. */
export function addStart(group: Command): void {
  group
    .command('start <file-or-name>')
    .description('play the cells of a file or a frozen experiment; repeatable')
    .option('--profile <name>', 'with a file: size of the experiment, one of its profiles')
    .option('--amend', 'with a file: freeze a changed one although cells have begun')
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

async function start(fileOrName: string, { profile, amend, seeds, json }: Options): Promise<void> {
  const loaded = /\.(ya?ml|json)$/.test(fileOrName)
    ? await loadForEnvironment(currentConfig(), fileOrName, { profile, onChosen: printChosen })
    : null;
  const name = loaded?.experiment.name ?? fileOrName;
  await withConnections(async (connections) => {
    const onUnchecked = (line: string): void => printMessage(`not checked: ${line}`);
    const result = loaded
      ? (await startFile(connections, loaded, { seeds, amend: amend ?? false, onUnchecked })).started
      : await startExperiment(connections, name, { seeds, onUnchecked });
    printMessage(outcomeText(name, result));
    printResult(json, result, () => result.workflowId);
  });
}

function outcomeText(name: string, { outcome, seeds }: StartedExperiment): string {
  const follow = `follow it with \`coevolve experiment status ${name} --watch\``;
  if (outcome === 'started') return `started with ${seeds} seeds; ${follow}`;
  if (outcome === 'joined') return `${name} runs already, with ${seeds} seeds; ${follow}`;
  if (outcome === 'extended') return `${name} runs, and goes on to ${seeds} seeds of every arm; ${follow}`;
  return `${name}: every cell of ${seeds} seeds has a result; see \`coevolve experiment status ${name}\``;
}
