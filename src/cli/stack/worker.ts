import { Option, type Command } from 'commander';
import { workerRoles, type WorkerRole } from '../../stack';
import { runWorker } from '../../workers/run-worker';
import { currentConfig } from '../../client/session';

/** `coevolve worker --role R` runs one worker process until it is told to stop. */
export function addWorker(program: Command): void {
  program
    .command('worker')
    .description('run a worker of one role; start as many as you need, anywhere')
    .addOption(new Option('--role <role>', 'what the worker does').choices([...workerRoles]).makeOptionMandatory())
    .option('--environment <name...>', 'for the role rollout: whose attempts to play (default: all of the server)')
    .action(async ({ role, environment }: { role: WorkerRole; environment?: string[] }) => {
      await runWorker(currentConfig(), role, environment);
    });
}
