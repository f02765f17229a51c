import type { Command } from 'commander';
import { forkOrigin } from '../../domain/campaign/fork-origin';
import { getLineage, type Lineage } from '../../store/audit/lineage';
import { getTaskLineage } from '../../store/tasks/task-lineage';
import { taskLineageText } from './task-lineage-text';
import { asCalled } from '../output/called-name';
import { shortHash } from '../../domain/formats';
import { printResult } from '../output/output';
import { withConnections } from '../../client/connections';
import { number, properties, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

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
  return [
    `policy ${policyId} of campaign ${campaign}${from ? ` (forked from ${from})` : ''}`,
    terminalTable(ancestors, [
      ...properties('iteration', 'role', 'method'),
      text('policy', (a) => shortHash(a.policyId)),
      number('rows', (a) => a.rows),
      text('training run', (a) => a.jobKey),
    ]),
    ...(examples.length > 0
      ? [
          'trained on',
          terminalTable(examples, [
            ...properties('source', 'examples', 'trajectories', 'tasks'),
            number('synthesized', (e) => e.synthesizedTasks),
            number('signals', (e) => e.signals),
          ]),
        ]
      : [asCalled('imported, without training data here; see `coevolve model list`')]),
  ].join('\n\n');
}
