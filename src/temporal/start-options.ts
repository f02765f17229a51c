import type { WorkflowOptions } from '@temporalio/client';
import type { Config } from '../config';
import { fairnessOf, type CampaignMemo } from '../domain/campaign/memo';

/**
 * Start options of a campaign's workflow: the memo for its interceptors (src/workflows/base/interceptors.ts), and the
 * same settings for its first run. They contain no secrets.
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
