import { getClient } from '@temporalio/activity';
import { isGrpcServiceError } from '@temporalio/client';
import { encodeToPayloads } from '@temporalio/common/lib/internal-non-workflow';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import { DomainError } from '../../domain/errors';

/**
 * Signals the workflow of a campaign. The client's own method gives every signal another id.
 *
 * @param requestId the server accepts each id once
 * @throws DomainError `StaleEpoch` when the campaign has no open workflow
 */
export async function signalCampaign(
  campaign: string,
  signalName: string,
  requestId: string,
  content: object,
): Promise<void> {
  const { workflowService, options } = getClient();
  const request = {
    namespace: options.namespace,
    identity: options.identity,
    workflowExecution: { workflowId: campaignWorkflowId(campaign) },
    signalName,
    input: { payloads: (await encodeToPayloads(options.loadedDataConverter, content)) ?? null },
    requestId,
  };
  await workflowService.signalWorkflowExecution(request).catch((error: unknown) => {
    const code: number | null = isGrpcServiceError(error) ? error.code : null;
    if (code === notFound) throw new DomainError('StaleEpoch', `campaign ${campaign} has no open workflow`);
    throw error;
  });
}

const notFound = 5;
