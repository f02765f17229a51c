import type { Command } from 'commander';
import { lineageOf, type Lineage } from '../store/lineage';
import { printResult, shortHash, table } from './output';
import { withSession } from './session';

/** `coevolve lineage <checkpoint>` traces a checkpoint back to every task and signal that it was trained on. */
export function addLineage(program: Command): void {
  program
    .command('lineage <checkpoint>')
    .description('trace a checkpoint to its training run, pairs, trajectories, tasks and signals')
    .option('--json', 'print it as JSON')
    .action((checkpoint: string, { json }: { json?: boolean }) =>
      withSession(async ({ pool }) => {
        const lineage = await lineageOf(pool, checkpoint);
        printResult(json, lineage, () => lineageText(lineage));
      }),
    );
}

function lineageText({ campaign, policyId, ancestors, examples }: Lineage): string {
  const chain = ancestors.map((a) => [a.iteration, a.role, a.method, shortHash(a.policyId), a.rows, a.jobKey]);
  const origins = examples.map((e) => [e.source, e.examples, e.trajectories, e.tasks, e.synthesizedTasks, e.signals]);
  return [
    `policy ${policyId} of campaign ${campaign}`,
    table(['iteration', 'role', 'method', 'policy', 'rows', 'training run'], chain),
    'trained on',
    table(['source', 'examples', 'trajectories', 'tasks', 'synthesized', 'signals'], origins),
  ].join('\n\n');
}
