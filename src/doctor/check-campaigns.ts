import { listAbandoned } from '../client/reconcile/abandoned-workflows';
import { withTemporalDeadline } from '../client/campaign-run';
import { findTroubles } from '../client/held-work';
import { withConnections, type Connections } from '../client/connections';
import type { Config } from '../config';
import { hasEnded } from '../store/campaign/campaigns';
import type { Check } from './check';

/**
 * Checks that Temporal continues every campaign that has not ended, and runs no workflow that nothing waits for. Returns none
 * while the database or Temporal does not answer, which other checks report.
 */
export async function checkCampaigns(config: Config): Promise<Check[]> {
  if (!config.databaseUrl || !config.temporal.address) return [];
  try {
    return await withConnections(
      (connections) => withTemporalDeadline(connections, () => compareCampaigns(connections)),
      config,
    );
  } catch {
    return [];
  }
}

async function compareCampaigns(connections: Connections): Promise<Check[]> {
  const rows = await connections.store.campaigns.list();
  const troubles = await findTroubles(connections, rows);
  const failed = troubles.map(({ campaign, what, next }) => checkOf(campaign, what, next));
  const left = (await listAbandoned(connections)).map(({ campaign, workflowIds, next }) =>
    checkOf(
      campaign,
      `nothing waits for ${workflowIds.length} open workflows: ${workflowIds.slice(0, 3).join(', ')}`,
      next,
    ),
  );
  if (failed.length + left.length > 0) return [...failed, ...left];
  const open = rows.filter(({ status }) => !hasEnded(status)).length;
  return [{ name: 'campaigns', ok: true, detail: `Temporal runs the ${open} that have not ended` }];
}

const checkOf = (campaign: string, detail: string, next: string): Check => ({
  name: `campaign ${campaign}`,
  ok: false,
  detail,
  next,
});
