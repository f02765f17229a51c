import type { Command } from 'commander';
import { approveCampaign } from '../../client/approve-campaign';
import { withConnections } from '../../client/connections';
import { printResult } from '../output/output';
import { idWithin } from '../arguments/shown-ids';

type Options = { reject: string[]; keep?: boolean; json?: boolean };

/** `coevolve approve <campaign>`: admits the waiting tasks except those rejected, or promotes the waiting policy. */
export function addApprove(program: Command): void {
  program
    .command('approve <campaign>')
    .description('approve the tasks or the policy that a parked campaign waits for')
    .option('--reject <task...>', 'ids of tasks to reject', [])
    .option('--keep', 'keep the active policy instead of the trained one')
    .option('--json', 'print the new state as JSON')
    .action((name: string, { reject, keep = false, json }: Options) =>
      withConnections(async (connections) => {
        const { summary, state } = await approveCampaign(connections, name, {
          reject: reject.map((task) => idWithin(name, task)),
          keep,
        });
        printResult(json, state, () => `${name}: ${summary}; ${state.status}`);
      }),
    );
}
