import type { Command } from 'commander';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { getLineage, type Lineage } from '../../store/audit/lineage';
import { getTaskLineage } from '../../store/tasks/task-lineage';
import { taskLineageText } from './task-lineage-text';
import { asCalled } from '../output/called-name';
import { shortHash } from '../../tables/formats';
import { printResult, table } from '../output/output';
import { withConnections } from '../../client/connections';

/**
 * `coevolve lineage <checkpoint>` lists the tasks and signals of a checkpoint's training data;
 * `coevolve lineage <campaign>/<task>` traces a task to its signal and exploration.
 */
export function addLineage(program: Command): void {
  program
    .command('lineage <origin>')
    .description('trace a checkpoint or <campaign>/<task> to its origins')
    .option('--json', 'print the lineage as JSON')
    .action((origin: string, { json }: { json?: boolean }) =>
      withConnections(async ({ pool }) => {
        const slash = origin.indexOf('/');
        if (slash < 0) {
          const lineage = await getLineage(pool, origin);
          return printResult(json, lineage, () => lineageText(lineage));
        }
        const lineage = await getTaskLineage(pool, origin.slice(0, slash), origin.slice(slash + 1));
        printResult(json, lineage, () => taskLineageText(lineage));
      }),
    );
}

function lineageText({ campaign, policyId, ancestors, examples, ...origin }: Lineage): string {
  const from = forkOrigin(origin);
  const chain = ancestors.map((a) => [a.iteration, a.role, a.method, shortHash(a.policyId), a.rows, a.jobKey]);
  const origins = examples.map((e) => [e.source, e.examples, e.trajectories, e.tasks, e.synthesizedTasks, e.signals]);
  return [
    `policy ${policyId} of campaign ${campaign}${from ? ` (forked from ${from})` : ''}`,
    table(['iteration', 'role', 'method', 'policy', 'rows', 'training run'], chain),
    ...(origins.length > 0
      ? ['trained on', table(['source', 'examples', 'trajectories', 'tasks', 'synthesized', 'signals'], origins)]
      : [asCalled('imported, without training data here; see `coevolve model list`')]),
  ].join('\n\n');
}
