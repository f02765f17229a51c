import { WorkflowFailedError, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import type { CampaignState } from '../domain/campaign/progress';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import {
  abortUpdate,
  pauseUpdate,
  resumeUpdate,
  retryUpdate,
  skipUpdate,
  statusQuery,
  stopAfterIterationUpdate,
} from '../workflows/temporal/messages';
import { findRunProblem, problemError, requireRun, withTemporalDeadline } from './campaign-run';
import { continuePausedWork, listPausedWork } from './paused-work';
import { operatorName, type Connections } from './connections';

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
 * @throws DomainError `CampaignEnded`, `NotRunning`, `PausedInTemporal`, or the code with which the campaign rejects the command
 */
export async function sendOperatorCommand(
  connections: Connections,
  name: string,
  command: OperatorCommand,
  { reason, actor = operatorName(), onProgress }: CommandOptions,
): Promise<CommandResult> {
  const row = await connections.store.campaigns.getByName(name);
  if (command === 'abort' && row.status === 'aborted') return { name, status: 'aborted' };
  requireNotEnded(row, command);
  await requireCommandable(connections, row, command, onProgress);
  const handle = (await connections.temporal()).workflow.getHandle(campaignWorkflowId(name));
  const operator = { actor, ...(reason ? { reason } : {}) };
  try {
    if (command === 'retry' && (await handle.query(statusQuery)).status !== 'parked')
      onProgress(`${name}: no phase is parked`);
    const state: CampaignState = await handle.executeUpdate(updates[command], { args: [operator] });
    if (command !== 'abort') {
      // The command has taken effect, whatever this request finds.
      const paused = await withTemporalDeadline(connections, () => listPausedWork(connections, name)).catch(() => []);
      for (const { what, next } of paused) onProgress(`${name}: ${what}; ${next}`);
      return state;
    }
    onProgress(`${name}: waits until all activities have stopped, also those of a worker that is not running`);
    return await handle.result().catch((error: unknown) => {
      if (error instanceof WorkflowFailedError && error.cause instanceof CancelledFailure)
        return handle.query(statusQuery);
      throw error;
    });
  } catch (error) {
    return await throwReason(connections, name, command, error);
  }
}

/**
 * Checks that Temporal runs the campaign. Before a resume it continues what was paused in Temporal itself.
 *
 * @throws DomainError `NotRunning`, `PausedInTemporal`
 */
async function requireCommandable(
  connections: Connections,
  row: CampaignRow,
  command: OperatorCommand,
  onProgress: CommandOptions['onProgress'],
): Promise<void> {
  if (command !== 'resume') return requireRun(connections, row);
  await withTemporalDeadline(connections, async () => {
    const problem = await findRunProblem(connections, row);
    if (problem?.status === 'lost') throw problemError(row.name, problem);
    for (const { what } of await continuePausedWork(connections, row.name))
      onProgress(`${row.name}: ${what}; it continues`);
  });
}

/** @throws DomainError `CampaignEnded` */
function requireNotEnded({ name, status }: CampaignRow, command: OperatorCommand): void {
  if (hasEnded(status)) throw new DomainError('CampaignEnded', `${name} has ended (${status}): nothing to ${command}`);
}

/** @throws DomainError with the reason of the campaign or of Temporal where there is one; otherwise the error itself */
async function throwReason(
  connections: Connections,
  name: string,
  command: OperatorCommand,
  error: unknown,
): Promise<never> {
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
    throw new DomainError(error.cause.type ?? 'Refused', error.cause.message);
  const row = await connections.store.campaigns.getByName(name); // it may have changed during the command
  if (error instanceof WorkflowNotFoundError) requireNotEnded(row, command);
  const problem = await withTemporalDeadline(connections, () => findRunProblem(connections, row)).catch(() => null);
  throw problem ? problemError(name, problem) : error;
}
