import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { retry } from '../base/retry';
import { DomainError } from '../domain/base/errors';
import { campaignWorkflowId } from '../domain/campaign/ids';
import { deleteCampaign as deleteRows } from '../store/campaign/delete-campaign';
import type { Session } from './session';

/**
 * Deletes an ended campaign: its rows, its report and its workflows in Temporal, so that its name can be used again. Its
 * policies and datasets stay until `coevolve gc`.
 *
 * @throws DomainError `UnknownCampaign`, `CampaignRuns`; nothing is deleted then
 */
export async function deleteCampaign({ pool, config, artifacts, temporal }: Session, name: string): Promise<void> {
  const client = await temporal(); // before the rows: without Temporal nothing is deleted
  await deleteRows(pool, name);
  await artifacts.deleteReport(name);
  const id = campaignWorkflowId(name);
  const { namespace } = config.temporal;
  for await (const run of client.workflow.list({ query: `WorkflowId = "${id}" OR WorkflowId STARTS_WITH "${id}/"` })) {
    const workflowExecution = { workflowId: run.workflowId, runId: run.runId };
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
  }
  await retry(() => requireDeleted(client, id), {
    ...{ shouldRetry: (error) => error instanceof StillThere, timeoutMs: 30_000, firstMs: 100, maxMs: 1_000 },
  });
}

/** Temporal deletes a workflow some time after it has accepted the request; until then its name is taken. */
async function requireDeleted(client: Client, workflowId: string): Promise<void> {
  const found = await client.workflow
    .getHandle(workflowId)
    .describe()
    .catch((error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    });
  if (found) throw new StillThere();
}

class StillThere extends DomainError {
  constructor() {
    super('NotDeleted', 'Temporal has not deleted the workflow yet; the rows are deleted: use another name, or wait');
  }
}
