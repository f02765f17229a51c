import type { WorkflowOptions } from '@temporalio/client';
import type { Config } from '../config';
import { fairnessOf, type CampaignMemo } from '../domain/campaign/memo';

/**
 * Start options of a campaign's workflow: the memo for its interceptors (src/workflows/base/interceptors.ts), and the
 * same settings for its first run. They contain no secrets.
 *
 * @param settings weight in (0, 1000]; id of the campaign's row
 */
export function memoOf(
  { recovery }: Pick<Config, 'recovery'>,
  workflowId: string,
  settings: Omit<CampaignMemo, 'recovery'>,
): Pick<WorkflowOptions, 'priority' | 'workflowTaskTimeout'> & { memo: CampaignMemo } {
  return {
    memo: { recovery, ...settings },
    priority: fairnessOf(workflowId, settings.weight),
    ...(recovery === 'fast' ? { workflowTaskTimeout: '2s' } : {}),
  };
}
