import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { Command } from 'commander';
import type { CampaignState } from '../../domain/campaign/progress';
import { DomainError } from '../../domain/base/errors';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import { hasEnded } from '../../store/campaign/campaigns';
import {
  abortUpdate,
  pauseUpdate,
  resumeUpdate,
  retryUpdate,
  skipUpdate,
  statusQuery,
  stopAfterIterationUpdate,
} from '../../workflows/base/messages';
import { printResult, say } from '../base/output';
import { operatorName, withSession, type Session } from '../../client/session';

const orders = [
  { verb: 'pause', update: pauseUpdate, description: 'pause a campaign; work in flight is finished and kept' },
  { verb: 'resume', update: resumeUpdate, description: 'resume a paused campaign, or let a parked one try again' },
  { verb: 'retry', update: retryUpdate, description: 'let a parked campaign try its phase again now' },
  { verb: 'skip', update: skipUpdate, description: 'let a parked campaign go on without its phase, where it can' },
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

/** `coevolve pause|resume|retry|skip|stop|abort <campaign>`: each is safe to repeat. */
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
  const operator = { actor: operatorName(), ...(reason ? { reason } : {}) };
  try {
    if (verb === 'retry' && (await handle.query(statusQuery)).status !== 'parked') say(`${name}: nothing is parked`);
    let state: CampaignState = await handle.executeUpdate(update, { args: [operator] });
    if (verb === 'abort') {
      say(`${name}: what is at work is being ended; a worker that is away is waited for`);
      state = (await handle.result()) as CampaignState;
    }
    printResult(json, state, () => `${name}: ${state.status}${afterwards(state)}`);
  } catch (error) {
    await explainRefusal(session, name, verb, error);
  }
}

/** @throws DomainError instead of what Temporal says, where the campaign can say more; else the error */
async function explainRefusal(session: Session, name: string, verb: string, error: unknown): Promise<never> {
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
    throw new DomainError(error.cause.type ?? 'Refused', error.cause.message);
  if (!(error instanceof WorkflowNotFoundError)) throw error;
  const status = await requireRunning(session, name, verb);
  throw new DomainError(
    'NotRunning',
    `${name} is ${status} in the database, and Temporal does not run it: bring it back with \`coevolve reconcile ${name}\``,
  );
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
