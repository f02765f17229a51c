import { Option, type Command } from 'commander';
import { workerRoles, type WorkerRole } from '../../stack';
import { runWorker } from '../../workers/run-worker';
import { currentConfig } from '../../client/connections';

/** `coevolve worker --role R`: runs one worker process until it gets a stop signal. */
export function addWorker(program: Command): void {
  program
    .command('worker')
    .description('run a worker of one role; any number, on any machine')
    .addOption(new Option('--role <role>', 'role of the worker').choices([...workerRoles]).makeOptionMandatory())
    .option('--environment <name...>', 'for role rollout: environments to play (default: all)')
    .action(async ({ role, environment }: { role: WorkerRole; environment?: string[] }) => {
      await runWorker(currentConfig(), role, environment);
    });
}
