import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { retry } from '../requests/retry';
import { DomainError } from '../domain/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { deleteCampaign as deleteRows } from '../store/campaign/delete-campaign';
import type { Connections } from './connections';

/** Temporal 1.32 needed 35 s. */
const timeoutMs = 180_000;

/**
 * Deletes an ended campaign: its rows, its report and its workflows, and waits until Temporal has freed its name. Policies
 * and datasets stay until `coevolve gc`.
 *
 * @throws DomainError `UnknownCampaign`, `CampaignRuns`: nothing is deleted then; `NameStillTaken`
 */
export async function deleteCampaign({ pool, config, artifacts, temporal }: Connections, name: string): Promise<void> {
  const client = await temporal(); // before the rows: without Temporal nothing is deleted
  await deleteRows(pool, name);
  await artifacts.deleteReport(name);
  const id = campaignWorkflowId(name);
  const { namespace } = config.temporal;
  const ids = new Set([id]);
  for await (const run of client.workflow.list({ query: `WorkflowId = "${id}" OR WorkflowId STARTS_WITH "${id}/"` })) {
    const workflowExecution = { workflowId: run.workflowId, runId: run.runId };
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
    ids.add(run.workflowId);
  }
  // All of them: a later campaign of this name would take a completed rollout that still exists for its own.
  for (const workflowId of ids)
    await retry(() => requireDeleted(client, name, workflowId), {
      shouldRetry: (error) => error instanceof DomainError,
      timeoutMs,
      firstMs: 500,
      maxMs: 2_000,
    });
}

async function requireDeleted(client: Client, name: string, workflowId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return;
    throw error;
  }
  throw new DomainError(
    'NameStillTaken',
    `the rows of ${name} are deleted, but Temporal still has ${workflowId}: start the next campaign of this name later`,
  );
}
