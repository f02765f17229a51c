import type { Command } from 'commander';
import { readConfig } from '../../config';
import { stackDown } from '../../stack';

/** `coevolve down` stops what `up` started; data, logs and ports stay for the next `up`. */
export function addDown(program: Command): void {
  program
    .command('down')
    .description('stop the embedded stack; its data stays')
    .option('--json', 'print what was stopped as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const stopped = await stackDown(readConfig(), { onProgress: (line) => process.stderr.write(`${line}\n`) });
      const text = stopped.length > 0 ? `stopped ${stopped.length} processes` : 'nothing was running';
      process.stdout.write(json ? `${JSON.stringify({ stopped }, null, 2)}\n` : `${text}\n`);
    });
}
