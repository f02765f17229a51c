import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/ids';
import { pauseUpdate, resumeUpdate, stopAfterIterationUpdate } from '../workflows/messages';
import { hasEnded } from '../store/campaigns';
import { printResult } from './output';
import { withSession } from './session';

const orders = [
  { verb: 'pause', update: pauseUpdate, description: 'pause a campaign; work in flight is finished and kept' },
  { verb: 'resume', update: resumeUpdate, description: 'resume a paused campaign, or let a parked one try again' },
  {
    verb: 'stop',
    update: stopAfterIterationUpdate,
    description: 'end a campaign after its iteration, a parked one at once',
  },
] as const;

/** `coevolve pause|resume|stop <campaign>`: each is safe to repeat. */
export function addControl(program: Command): void {
  for (const { verb, update, description } of orders)
    program
      .command(`${verb} <campaign>`)
      .description(description)
      .option('--reason <text>', 'why, for the log of events')
      .option('--json', 'print the new state as JSON')
      .action((name: string, { reason, json }: { reason?: string; json?: boolean }) =>
        withSession(async ({ store, temporal }) => {
          const { status } = await store.campaigns.getByName(name);
          if (hasEnded(status))
            throw new DomainError('CampaignEnded', `${name} has ended (${status}): nothing to ${verb}`);
          const client = await temporal();
          const operator = { actor: userInfo().username, ...(reason ? { reason } : {}) };
          const handle = client.workflow.getHandle(campaignWorkflowId(name));
          const state = await handle.executeUpdate(update, { args: [operator] });
          const after = state.stopping ? ', ends after this iteration' : '';
          printResult(json, state, () => `${name}: ${state.status}${after}`);
        }),
      );
}
