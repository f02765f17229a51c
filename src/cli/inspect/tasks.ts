import { Option, type Command } from 'commander';
import type { StageVerdict } from '../../domain/tasks/admission/candidate';
import type { TaskFilter, TaskRow } from '../../store/tasks/tasks';
import { printResult, table } from '../output/output';
import { withConnections } from '../../client/connections';

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

function taskTable(tasks: readonly TaskRow[]): string {
  const header = ['id', 'split', 'origin', 'verdict', 'grader', 'signal', 'goal', 'description'];
  const rows = tasks.map((task) => [
    task.id,
    task.split,
    task.origin,
    task.reason ?? task.verdict,
    task.grader,
    task.parentSignalId,
    short(task.goal),
    task.description && short(task.description),
  ]);
  return table(header, rows);
}

/** Formats a task and its admission stages with their measurements. */
function trailText({ id, goal, verdict, trail = [] }: TracedTask): string {
  const rows = trail.map(({ stage, passed, reason, detail }) => [
    `  ${stage}`,
    passed ? 'passed' : 'failed',
    reason,
    Object.entries(detail)
      .map(([key, value]) => `${key} ${typeof value === 'number' ? Number(value.toFixed(3)) : short(value)}`)
      .join(', '),
  ]);
  const stages = rows.length > 0 ? table(['  stage', '', 'reason', 'measured'], rows) : '  not decided yet';
  return `${id}: ${verdict}\n  ${short(goal)}\n${stages}`;
}

/** Replaces line breaks, which models write and which would break the table. */
const short = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 70);
