import type { Command } from 'commander';
import { readConfig } from '../../config';
import { runSupervisor } from '../../stack';
import { print } from '../output/output';

/** `coevolve supervise`: restarts crashed services of the embedded stack until SIGINT or SIGTERM; `up` starts one. */
export function addSupervise(program: Command): void {
  program
    .command('supervise')
    .description('restart crashed services of the embedded stack; started by `up`')
    .action(async () => {
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      const onProgress = (line: string): void => print(`${new Date().toISOString()} ${line}`);
      await runSupervisor(readConfig(), { signal: stop.signal, onProgress });
    });
}
