import type { Client } from '@temporalio/client';

export type RecordedRun = { workflowId: string; runId: string; type: string; history: History };
export type History = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>;

/** Returns every run of every workflow of a campaign, found by the search attribute. */
export async function historiesOf(client: Client, campaign: string): Promise<RecordedRun[]> {
  const runs: RecordedRun[] = [];
  for await (const { workflowId, runId, type } of client.workflow.list({ query: `CampaignName = "${campaign}"` }))
    runs.push({ workflowId, runId, type, history: await client.workflow.getHandle(workflowId, runId).fetchHistory() });
  return runs.sort((a, b) => (a.workflowId < b.workflowId ? -1 : 1));
}

/** Returns all payloads in the events of a history. */
export function payloadsOf(value: unknown): Uint8Array[] {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  if ('metadata' in value && 'data' in value && value.data instanceof Uint8Array) return [value.data];
  return Object.values(value).flatMap(payloadsOf);
}
