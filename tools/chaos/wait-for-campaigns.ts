import { ChaosError } from './chaos-error';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendOperatorCommand } from '../../src/client/send-command';
import { hasEnded, type CampaignStatus } from '../../src/store/campaign/campaigns';
import { campaignWorkflowId } from '../../src/domain/campaign/ids';
import { statusQuery } from '../../src/workflows/temporal/messages';
import type { ChaosStack } from './chaos-stack';
import { openWorkflows } from './open-workflows';
import { eventsOf, progressOf, unlessUnavailable } from './progress';
import type { Watched } from './recovery';

/** A campaign that was parked, with its reason, and that was resumed. */
export type ParkedCampaigns = { name: string; reason: string };

const pollMs = 500;
/** Maximum time without a new row or event; every activity reports sooner, also with its retries. */
const progressTimeoutMs = 180_000;
const requestTimeoutMs = 5_000;

/**
 * Waits until all campaigns have begun and ended, and resumes parked ones.
 *
 * @throws ChaosError with the open workflows after three minutes without progress
 */
export async function waitForCampaigns({ stack, names, signal }: Watched): Promise<ParkedCampaigns[]> {
  const parked: ParkedCampaigns[] = [];
  let [last, progressedAt] = ['', Date.now()];
  while (!signal.aborted) {
    const statuses = await unlessUnavailable(() => statusesOf(stack, names));
    if (statuses?.length === names.length && statuses.every(hasEnded)) return parked;
    for (const name of names) parked.push(...((await unlessUnavailable(() => resumeIfParked(stack, name))) ?? []));
    const rows = await unlessUnavailable(() => progressOf(stack.pool, names));
    const open = await unlessUnavailable(() => openWorkflows(stack.client));
    const current = `${rows}\n${open && eventsOf(open)}`;
    if (current !== last) [last, progressedAt] = [current, Date.now()];
    if (Date.now() - progressedAt > progressTimeoutMs)
      throw new ChaosError(
        `no progress for ${progressTimeoutMs / 1000} s:\n${JSON.stringify(open ?? 'Temporal is unavailable', null, 1)}`,
      );
    await sleep(pollMs);
  }
  return parked;
}

async function statusesOf({ pool }: ChaosStack, names: readonly string[]): Promise<CampaignStatus[]> {
  const { rows } = await pool.query<{ status: CampaignStatus }>(
    'select status from campaigns where name = any ($1::text[])',
    [names],
  );
  return rows.map(({ status }) => status);
}

async function resumeIfParked(stack: ChaosStack, name: string): Promise<ParkedCampaigns[]> {
  const { client } = stack;
  const handle = client.workflow.getHandle(campaignWorkflowId(name));
  return client.connection.withDeadline(Date.now() + requestTimeoutMs, async () => {
    const { status, progress } = await handle.query(statusQuery);
    if (status !== 'parked') return [];
    const reason = 'the fault is over';
    await sendOperatorCommand(stack, name, 'resume', { actor: 'chaos', reason, onProgress: () => undefined });
    return [{ name, reason: progress.parked ?? 'unknown reason' }];
  });
}
