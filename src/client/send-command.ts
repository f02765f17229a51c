import { WorkflowFailedError, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { campaignCommands, type CampaignCommand, type CampaignCommandName } from '../domain/campaign/operator-commands';
import type { CampaignState } from '../domain/campaign/progress';
import { hasEnded, type CampaignRow } from '../store/campaign/campaigns';
import { campaignUpdates, statusQuery } from '../workflows/temporal/messages';
import { findRunProblem, problemError, requireRun, withTemporalDeadline } from './campaign-run';
import { continuePausedWork, listHeldWork, noticesOf } from './held-work';
import { operatorName, type Connections } from './connections';

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
  command: CampaignCommandName,
  { reason, actor = operatorName(), onProgress }: CommandOptions,
): Promise<CommandResult> {
  const entry: CampaignCommand = campaignCommands[command];
  const row = await connections.store.campaigns.getByName(name);
  if (entry.cancels && row.status === 'aborted') return { name, status: 'aborted' };
  requireNotEnded(row, command);
  if (entry.continuesPausedWork) await continueInTemporal(connections, row, onProgress);
  else await requireRun(connections, row);
  const handle = (await connections.temporal()).workflow.getHandle(campaignWorkflowId(name));
  const operator = { actor, ...(reason ? { reason } : {}) };
  try {
    const notice = entry.notice?.(await handle.query(statusQuery));
    if (notice) onProgress(`${name}: ${notice}`);
    const state: CampaignState = await handle.executeUpdate(campaignUpdates[command], { args: [operator] });
    if (!entry.cancels) {
      // The command has taken effect, whatever this request finds.
      const paused = await withTemporalDeadline(connections, () => listHeldWork(connections, name)).catch(() => []);
      for (const { what, next } of noticesOf(paused)) onProgress(`${name}: ${what}; ${next}`);
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
 * Continues work that was paused in Temporal itself.
 *
 * @throws DomainError `NotRunning`
 */
async function continueInTemporal(
  connections: Connections,
  row: CampaignRow,
  onProgress: CommandOptions['onProgress'],
): Promise<void> {
  await withTemporalDeadline(connections, async () => {
    const problem = await findRunProblem(connections, row);
    if (problem && problem.status !== 'paused') throw problemError(row.name, problem);
    for (const { what } of noticesOf(await continuePausedWork(connections, row.name)))
      onProgress(`${row.name}: ${what}; it continues`);
  });
}

/** @throws DomainError `CampaignEnded` */
function requireNotEnded({ name, status }: CampaignRow, command: CampaignCommandName): void {
  if (hasEnded(status)) throw new DomainError('CampaignEnded', `${name} has ended (${status}): nothing to ${command}`);
}

/** @throws DomainError with the reason of the campaign or of Temporal where there is one; otherwise the error itself */
async function throwReason(
  connections: Connections,
  name: string,
  command: CampaignCommandName,
  error: unknown,
): Promise<never> {
  if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
    throw new DomainError(error.cause.type ?? 'Refused', error.cause.message);
  const row = await connections.store.campaigns.getByName(name); // it may have changed during the command
  if (error instanceof WorkflowNotFoundError) requireNotEnded(row, command);
  const problem = await withTemporalDeadline(connections, () => findRunProblem(connections, row)).catch(() => null);
  throw problem ? problemError(name, problem) : error;
}
