import { userInfo } from 'node:os';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Command } from 'commander';
import type { CampaignState } from '../domain/campaign-progress';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/ids';
import { hasEnded } from '../store/campaigns';
import { abortUpdate, pauseUpdate, resumeUpdate, stopAfterIterationUpdate } from '../workflows/messages';
import { printResult, say } from './output';
import { withSession, type Session } from './session';

const orders = [
  { verb: 'pause', update: pauseUpdate, description: 'pause a campaign; work in flight is finished and kept' },
  { verb: 'resume', update: resumeUpdate, description: 'resume a paused campaign, or let a parked one try again' },
  {
    verb: 'stop',
    update: stopAfterIterationUpdate,
    description: 'end a campaign after its iteration, a parked one at once',
  },
  {
    verb: 'abort',
    update: abortUpdate,
    description: 'end a campaign and what it has at work now; what is stored stays',
  },
] as const;

type Order = (typeof orders)[number];
type Options = { reason?: string; json?: boolean };

/** `coevolve pause|resume|stop|abort <campaign>`: each is safe to repeat. */
export function addControl(program: Command): void {
  for (const order of orders)
    program
      .command(`${order.verb} <campaign>`)
      .description(order.description)
      .option('--reason <text>', 'why, for the log of events')
      .option('--json', 'print the new state as JSON')
      .action((name: string, options: Options) => withSession((session) => give(session, name, order, options)));
}

async function give(session: Session, name: string, { verb, update }: Order, { reason, json }: Options): Promise<void> {
  if (verb === 'abort' && (await statusOf(session, name)) === 'aborted')
    return printResult(json, { name, status: 'aborted' }, () => `${name}: aborted before`);
  await requireRunning(session, name, verb);
  const client = await session.temporal();
  const handle = client.workflow.getHandle(campaignWorkflowId(name));
  const operator = { actor: userInfo().username, ...(reason ? { reason } : {}) };
  let state: CampaignState = await handle.executeUpdate(update, { args: [operator] }).catch(async (error: unknown) => {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    const status = await requireRunning(session, name, verb);
    throw new DomainError(
      'NotRunning',
      `${name} is ${status} in the database, and Temporal does not run it: bring it back with \`coevolve reconcile ${name}\``,
    );
  });
  if (verb === 'abort') {
    say(`${name}: what is at work is being ended; a worker that is away is waited for`);
    state = (await handle.result()) as CampaignState;
  }
  printResult(json, state, () => `${name}: ${state.status}${afterwards(state)}`);
}

const statusOf = async ({ store }: Session, name: string) => (await store.campaigns.getByName(name)).status;

/** @throws DomainError `CampaignEnded` */
async function requireRunning(session: Session, name: string, verb: string): Promise<string> {
  const status = await statusOf(session, name);
  if (hasEnded(status)) throw new DomainError('CampaignEnded', `${name} has ended (${status}): nothing to ${verb}`);
  return status;
}

const afterwards = ({ stopping, status, abortedBy }: CampaignState): string => {
  if (status === 'aborted') return '';
  if (abortedBy !== undefined) return `, being aborted by ${abortedBy}`;
  return stopping ? ', ends after this iteration' : '';
};
