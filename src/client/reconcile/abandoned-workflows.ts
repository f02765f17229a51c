import { WorkflowNotFoundError } from '@temporalio/client';
import { slidingWindow } from '../../domain/concurrency';
import { campaignOfWorkflow, campaignWorkflowId } from '../../domain/campaign/ids';
import type { CampaignRow } from '../../store/campaign/campaigns';
import { childrenOf, concurrentDescriptions, describeRun, describeWorkflow, isOpen } from '../campaign-run';
import type { Connections } from '../connections';

/** Workflows that Temporal runs although no campaign waits for them: after a reset, or of a campaign that has ended. */
export type Abandoned = {
  campaign: string;
  /** Parents before their children. */
  workflowIds: string[];
  /** The command that ends them. */
  next: string;
};

type Ended = Pick<CampaignRow, 'name' | 'finishedAt'>;

/** A campaign whose row has just ended still writes its report. */
const endingMs = 60_000;

/** Lists the abandoned workflows of all campaigns, or of one. Temporal lists workflows some seconds late. */
export async function listAbandoned(connections: Connections, only?: string): Promise<Abandoned[]> {
  const { workflow } = await connections.temporal();
  const prefix = only === undefined ? 'campaign/' : campaignWorkflowId(only);
  const open = new Map<string, string[]>();
  const query = `ExecutionStatus = "Running" AND WorkflowId STARTS_WITH "${prefix}"`;
  for await (const { workflowId } of workflow.list({ query, pageSize: 1_000 })) {
    const campaign = campaignOfWorkflow(workflowId);
    if (campaign === undefined || (only !== undefined && campaign !== only)) continue;
    open.set(campaign, [...(open.get(campaign) ?? []), workflowId]);
  }
  const rows = new Map((await connections.store.campaigns.list()).map((row) => [row.name, row]));
  const found: Abandoned[] = [];
  await slidingWindow(concurrentDescriptions, open, async ([campaign, ids]) => {
    const row = rows.get(campaign);
    const workflowIds = await abandonedOf(connections, { campaign, ids, row });
    const next = `end them with \`coevolve reconcile ${campaign}${row ? '' : ' --force'}\``;
    if (workflowIds.length > 0) found.push({ campaign, workflowIds, next });
  });
  return found.sort((one, other) => (one.campaign < other.campaign ? -1 : 1));
}

type Open = { campaign: string; ids: readonly string[]; row: Ended | undefined };

/**
 * The campaign is described after its workflows were listed: workflows that it started since are not among them. Temporal names
 * its children. Ids do not: they hold the epoch of the rows, and after a restore the iteration's own id has another.
 */
async function abandonedOf(connections: Connections, { campaign, ids, row }: Open): Promise<string[]> {
  const id = campaignWorkflowId(campaign);
  const run = await describeRun(connections, campaign);
  const isAbandoned = !row || (row.finishedAt !== null && Date.now() - row.finishedAt.getTime() > endingMs);
  const isLive = run !== null && isOpen(run) && !isAbandoned;
  const iterations = isLive ? childrenOf(run) : [];
  const described = await Promise.all(iterations.map((iteration) => describeWorkflow(connections, iteration)));
  const awaited = new Set([...iterations, ...described.flatMap(childrenOf)]);
  return ids.filter((each) => (each === id ? !isLive && run !== null && isOpen(run) : !awaited.has(each))).sort();
}

/**
 * Terminates workflows of a campaign that nothing waits for, and returns how many were open. Their workers learn it from
 * their next heartbeat; the epoch rejects their later writes.
 */
export async function endAbandoned(connections: Connections, workflowIds: readonly string[]): Promise<number> {
  const { workflow } = await connections.temporal();
  let ended = 0;
  for (const workflowId of workflowIds)
    try {
      await workflow.getHandle(workflowId).terminate('abandoned: ended by coevolve reconcile');
      ended++;
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error; // with its parent, or by itself
    }
  return ended;
}
