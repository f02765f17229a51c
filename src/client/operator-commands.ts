import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { DomainError } from '../domain/base/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import type { CampaignState } from '../domain/campaign/progress';
import { hasEnded, type CampaignStatus } from '../store/campaign/campaigns';
import {
  abortUpdate,
  pauseUpdate,
  resumeUpdate,
  retryUpdate,
  skipUpdate,
  statusQuery,
  stopAfterIterationUpdate,
} from '../workflows/base/messages';
import { operatorName, type Session } from './session';

const updates = {
  pause: pauseUpdate,
  resume: resumeUpdate,
  retry: retryUpdate,
  skip: skipUpdate,
  stop: stopAfterIterationUpdate,
  abort: abortUpdate,
} as const;

export type OperatorCommand = keyof typeof updates;

type CommandOptions = {
  /** Recorded in the log of events. */
  reason?: string | undefined;
  /** Name of the operator for the log of events; default: the user of this process. */
  actor?: string;
  onProgress: (line: string) => void;
};

/** State after the command; of a campaign that was aborted before, only name and status. */
export type CommandResult = CampaignState | { name: string; status: 'aborted' };

/**
 * Sends an operator command to a campaign and returns its state after the command; `abort` returns when all activities
 * have stopped. Safe to repeat.
 *
 * @throws DomainError `CampaignEnded`, `NotRunning`, or the code with which the campaign rejects the command
 */
export async function sendOperatorCommand(
  session: Session,
  name: string,
  command: OperatorCommand,
  { reason, actor = operatorName(), onProgress }: CommandOptions,
): Promise<CommandResult> {
  if (command === 'abort' && (await statusOf(session, name)) === 'aborted') return { name, status: 'aborted' };
  await requireNotEnded(session, name, command);
  const handle = (await session.temporal()).workflow.getHandle(campaignWorkflowId(name));
  const operator = { actor, ...(reason ? { reason } : {}) };
  try {
    if (command === 'retry' && (await handle.query(statusQuery)).status !== 'parked')
      onProgress(`${name}: no phase is parked`);
    const state: CampaignState = await handle.executeUpdate(updates[command], { args: [operator] });
    if (command !== 'abort') return state;
    onProgress(`${name}: waits until all activities have stopped, also those of a worker that is not running`);
    return (await handle.result()) as CampaignState;
  } catch (error) {
    return await throwReason(session, name, command, error);
  }
}

const statusOf = async ({ store }: Session, name: string): Promise<CampaignStatus> =>
  (await store.campaigns.getByName(name)).status;

/** @throws DomainError `CampaignEnded` */
async function requireNotEnded(session: Session, name: string, command: OperatorCommand): Promise<CampaignStatus> {
  const status = await statusOf(session, name);
  if (hasEnded(status)) throw new DomainError('CampaignEnded', `${name} has ended (${status}): nothing to ${command}`);
  return status;
}

/** @throws DomainError with the campaign's reason where it has one; otherwise the error itself */
async function throwReason(session: Session, name: string, command: OperatorCommand, error: unknown): Promise<never> {
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
    throw new DomainError(error.cause.type ?? 'Refused', error.cause.message);
  if (!(error instanceof WorkflowNotFoundError)) throw error;
  const status = await requireNotEnded(session, name, command);
  throw new DomainError(
    'NotRunning',
    `${name} is ${status} in the database, but Temporal does not run it; start it again with \`coevolve reconcile ${name}\``,
  );
}
