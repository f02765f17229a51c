import { Option, type Command } from 'commander';
import type { TaskFilter } from '../store/tasks';
import { printResult, table } from './output';
import { withSession } from './session';

/** `coevolve tasks <campaign>` lists the task pool and its candidates. */
export function addTasks(program: Command): void {
  program
    .command('tasks <campaign>')
    .description('list the tasks of a campaign, the rejected candidates with their reasons')
    .addOption(new Option('--verdict <verdict>').choices(['admitted', 'candidate', 'rejected']))
    .addOption(new Option('--split <split>').choices(['train', 'held-out']))
    .option('--json', 'print them whole, as JSON')
    .action((name: string, { json, ...filter }: TaskFilter & { json?: boolean }) =>
      withSession(async ({ store }) => {
        const { id } = await store.campaigns.getByName(name);
        const tasks = await store.tasks.list(id, filter);
        const rows = tasks.map((t) => [
          t.id,
          t.split,
          t.origin,
          t.reason ?? t.verdict,
          t.parentSignalId,
          t.goal.slice(0, 70),
        ]);
        printResult(json, tasks, () => table(['id', 'split', 'origin', 'verdict', 'signal', 'goal'], rows));
      }),
    );
}
