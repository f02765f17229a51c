import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { DomainError } from '../../domain/errors';
import type { ExperimentCommandName } from '../../domain/experiment/operator-commands';
import { experimentWorkflowId, type ExperimentState } from '../../domain/experiment/progress';
import { experimentUpdates } from '../../workflows/temporal/messages';
import { isUnderway } from '../../store/experiment/experiments';
import { withTemporalDeadline } from '../campaign-run';
import { operatorName, type Connections } from '../connections';

/** Returns whether Temporal runs the workflow of an experiment. */
export async function isExperimentOpen(connections: Connections, name: string): Promise<boolean> {
  const handle = (await connections.temporal()).workflow.getHandle(experimentWorkflowId(name));
  try {
    const { status } = await withTemporalDeadline(connections, () => handle.describe());
    return status.name === 'RUNNING' || status.name === 'PAUSED';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

type CommandOptions = {
  /** Shown beside the status. */
  reason?: string | undefined;
  /** The arm to stop, by default all arms. */
  arm?: string | undefined;
};

/**
 * Sends an operator command to an experiment and returns its state after the command. Safe to repeat.
 *
 * @throws DomainError `UnknownExperiment`, `UnknownArm`, `ExperimentEnded`, `NotRunning`
 */
export async function sendExperimentCommand(
  connections: Connections,
  name: string,
  command: ExperimentCommandName,
  { reason, arm }: CommandOptions = {},
): Promise<ExperimentState> {
  const row = await connections.store.experiments.getByName(name);
  const arms = row.resolved.arms.map((each) => each.name);
  if (arm !== undefined && !arms.includes(arm))
    throw new DomainError('UnknownArm', `--arm: found "${arm}", expected one of ${arms.join(', ')}`);
  if (!isUnderway(row))
    throw new DomainError(
      'ExperimentEnded',
      `${name} is ${row.status}: nothing to ${command}; \`coevolve experiment start ${name}\` plays what is missing`,
    );
  const handle = (await connections.temporal()).workflow.getHandle(experimentWorkflowId(name));
  const operator = {
    actor: operatorName(),
    ...(reason ? { reason } : {}),
    ...(arm === undefined ? {} : { arm }),
  };
  try {
    return await handle.executeUpdate(experimentUpdates[command], { args: [operator] });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError) throw notRunning(name);
    throw error;
  }
}

export const notRunning = (name: string): DomainError =>
  new DomainError(
    'NotRunning',
    `${name}: its workflow is not open in Temporal, and the database has not recorded an end; continue from the database ` +
      `with \`coevolve experiment start ${name}\``,
  );
