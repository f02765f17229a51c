import type { Command } from 'commander';
import { readConfig } from '../../config';
import { runSupervisor } from '../../stack';

/** `coevolve supervise` keeps the services of the embedded stack running until it is told to stop; `up` starts one. */
export function addSupervise(program: Command): void {
  program
    .command('supervise')
    .description('start again what dies of the embedded stack, until told to stop; `up` starts one of these')
    .action(async () => {
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
      const onProgress = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`);
      await runSupervisor(readConfig(), { signal: stop.signal, onProgress });
    });
}
