import { Option, type Command } from 'commander';
import type { StageVerdict } from '../../domain/tasks/admission/candidate';
import type { TaskFilter, TaskRow } from '../../store/tasks/tasks';
import { addListOptions, firstRows, printMore, type ListOptions } from '../output/listing';
import { printResult } from '../output/output';
import { withConnections } from '../../client/connections';
import { properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';
import { oneLine, rounded } from '../../domain/formats';

type Options = ListOptions & TaskFilter & { verdicts?: boolean };

type TracedTask = TaskRow & { trail?: StageVerdict[] };

/** `coevolve tasks <campaign>`: lists the task pool and its candidates. */
export function addTasks(program: Command): void {
  const command = program
    .command('tasks <campaign>')
    .description('list the tasks of a campaign, with reasons of rejections')
    .addOption(new Option('--verdict <verdict>').choices(['admitted', 'candidate', 'rejected']))
    .addOption(new Option('--split <split>').choices(['train', 'held-out']))
    .option('--verdicts', 'print the admission stages of synthesized tasks');
  addListOptions(command, 'whole tasks as JSON').action((name: string, options: Options) =>
    withConnections(async ({ store }) => {
      const { json, limit: _limit, verdicts, ...filter } = options;
      const { id } = await store.campaigns.getByName(name);
      const tasks = await store.tasks.list(id, filter);
      const trails = verdicts ? await store.admission.listTrails(id) : null;
      const traced = tasks.flatMap((task): TracedTask[] =>
        trails === null ? [task] : task.origin === 'seed' ? [] : [{ ...task, trail: trails.get(task.id) ?? [] }],
      );
      const page = firstRows(traced, options);
      printResult(json, page.rows, () =>
        verdicts ? page.rows.map(trailText).join('\n\n') : taskTable(page.rows, name),
      );
      printMore(page, 'tasks');
    }),
  );
}

const taskTable = (tasks: readonly TaskRow[], campaign: string): string =>
  terminalTable(tasks, [
    text('task', ({ id }) => `${campaign}/${id}`),
    ...properties('split', 'origin'),
    text('verdict', (task) => task.reason ?? task.verdict),
    text('grader', (task) => task.grader),
    text('signal', (task) => task.parentSignalId),
    text('goal', (task) => oneLine(task.goal)),
    text('description', (task) => task.description && oneLine(task.description)),
  ]);

/** Formats a task and its admission stages with their measurements. */
function trailText({ id, goal, verdict, trail = [] }: TracedTask): string {
  const stages = terminalTable(trail, [
    text('  stage', ({ stage }) => `  ${stage}`),
    text('', ({ passed }) => (passed ? 'passed' : 'failed')),
    text('reason', ({ reason }) => reason),
    text('measured', ({ detail }) =>
      Object.entries(detail)
        .map(([key, value]) => `${key} ${typeof value === 'number' ? rounded(value) : oneLine(value)}`)
        .join(', '),
    ),
  ]);
  return `${id}: ${verdict}\n  ${oneLine(goal)}\n${trail.length > 0 ? stages : '  not decided yet'}`;
}
