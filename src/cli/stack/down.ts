import type { Command } from 'commander';
import { givenConfig } from '../../client/connections';
import { stackDown } from '../../stack';
import { printMessage, printResult } from '../output/output';

/** `coevolve down`: stops the processes of `up`; data, logs and ports are kept for the next `up`. */
export function addDown(program: Command): void {
  program
    .command('down')
    .description('stop the embedded stack and keep its data')
    .option('--json', 'print the stopped processes as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const stopped = await stackDown(givenConfig(), { onProgress: printMessage });
      printResult(json, { stopped }, () =>
        stopped.length > 0 ? `stopped ${stopped.length} processes` : 'nothing was running',
      );
    });
}
