import { campaignWorkflowId } from '../domain/campaign/ids';
import { deleteCampaign as deleteRows } from '../store/campaign/delete-campaign';
import type { Session } from './session';

/**
 * Deletes an ended campaign: its rows, its report and its workflows. Temporal deletes some time after it has accepted the
 * request; until then a start with the name is refused. Policies and datasets stay until `coevolve gc`.
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
}
