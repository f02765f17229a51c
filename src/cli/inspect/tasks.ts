import { Option, type Command } from 'commander';
import type { StageVerdict } from '../../domain/tasks/admission/candidate';
import type { TaskFilter, TaskRow } from '../../store/tasks/tasks';
import { printResult } from '../output/output';
import { withConnections } from '../../client/connections';
import { properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';
import { rounded } from '../../domain/formats';

type Options = TaskFilter & { verdicts?: boolean; json?: boolean };

type TracedTask = TaskRow & { trail?: StageVerdict[] };

/** `coevolve tasks <campaign>`: lists the task pool and its candidates. */
export function addTasks(program: Command): void {
  program
    .command('tasks <campaign>')
    .description('list the tasks of a campaign, with reasons of rejections')
    .addOption(new Option('--verdict <verdict>').choices(['admitted', 'candidate', 'rejected']))
    .addOption(new Option('--split <split>').choices(['train', 'held-out']))
    .option('--verdicts', 'print the admission stages of synthesized tasks')
    .option('--json', 'print whole tasks as JSON')
    .action((name: string, { json, verdicts, ...filter }: Options) =>
      withConnections(async ({ store }) => {
        const { id } = await store.campaigns.getByName(name);
        const tasks = await store.tasks.list(id, filter);
        if (!verdicts) return printResult(json, tasks, () => taskTable(tasks));
        const trails = await store.admission.listTrails(id);
        const traced = tasks.flatMap((task): TracedTask[] =>
          task.origin === 'seed' ? [] : [{ ...task, trail: trails.get(task.id) ?? [] }],
        );
        printResult(json, traced, () => traced.map(trailText).join('\n\n'));
      }),
    );
}

const taskTable = (tasks: readonly TaskRow[]): string =>
  terminalTable(tasks, [
    ...properties('id', 'split', 'origin'),
    text('verdict', (task) => task.reason ?? task.verdict),
    text('grader', (task) => task.grader),
    text('signal', (task) => task.parentSignalId),
    text('goal', (task) => short(task.goal)),
    text('description', (task) => task.description && short(task.description)),
  ]);

/** Formats a task and its admission stages with their measurements. */
function trailText({ id, goal, verdict, trail = [] }: TracedTask): string {
  const stages = terminalTable(trail, [
    text('  stage', ({ stage }) => `  ${stage}`),
    text('', ({ passed }) => (passed ? 'passed' : 'failed')),
    text('reason', ({ reason }) => reason),
    text('measured', ({ detail }) =>
      Object.entries(detail)
        .map(([key, value]) => `${key} ${typeof value === 'number' ? rounded(value) : short(value)}`)
        .join(', '),
    ),
  ]);
  return `${id}: ${verdict}\n  ${short(goal)}\n${trail.length > 0 ? stages : '  not decided yet'}`;
}

/** Replaces line breaks, which models write and which would break the table. */
const short = (value: string): string => value.replaceAll(/\s+/g, ' ').slice(0, 70);
