import type { WorkflowOptions } from '@temporalio/client';
import type { Config } from '../config';
import { fairnessOf, type CampaignMemo } from '../domain/campaign/memo';

/**
 * What a campaign's workflow is started with beside its input: the memo that its interceptors read
 * (src/workflows/base/interceptors.ts), and the same for its own first run. Nothing of it is secret.
 *
 * @param weight in (0, 1000]
 */
export function memoOf(
  { recovery }: Pick<Config, 'recovery'>,
  workflowId: string,
  weight: number,
): Pick<WorkflowOptions, 'priority' | 'workflowTaskTimeout'> & { memo: CampaignMemo } {
  return {
    memo: { recovery, weight },
    priority: fairnessOf(workflowId, weight),
    ...(recovery === 'fast' ? { workflowTaskTimeout: '2s' } : {}),
  };
}
