import type { Command } from 'commander';
import { givenConfig } from '../../client/connections';
import { runSetup } from '../../process/run-setup';
import { printResult } from '../output/output';

/** `coevolve setup`: installs the Python packages beside the program. */
export function addSetup(program: Command): void {
  program
    .command('setup')
    .description('install the Python packages, or optional parts; safe to repeat')
    .option('--with <part...>', 'optional parts, such as export, trl, java or smollm2')
    .option('--json', 'print the result as JSON')
    .action(async ({ with: parts = [], json }: { with?: string[]; json?: boolean }) => {
      const { python, projectRoot } = givenConfig();
      await runSetup(projectRoot, parts);
      printResult(json, { python, parts }, () => `installed: ${python}`);
    });
}
