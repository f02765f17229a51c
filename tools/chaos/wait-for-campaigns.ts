import { ChaosError } from './chaos-error';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasEnded, type CampaignStatus } from '../../src/store/campaign/campaigns';
import { campaignWorkflowId } from '../../src/domain/campaign/ids';
import { resumeUpdate, statusQuery } from '../../src/workflows/base/messages';
import type { ChaosStack } from './chaos-stack';
import { openWorkflows } from './open-workflows';
import { eventsOf, ifThere, rowsOfProgress } from './progress';
import type { Watched } from './recovery';

/** A campaign that had parked, why, and that it was resumed as an operator would. */
export type ParkedCampaigns = { name: string; reason: string };

const lookEveryMs = 500;
/** No row and no event for so long is a standstill: longer than any activity may be silent, with its retries. */
const standstillMs = 180_000;
const answerWithinMs = 5_000;

/**
 * Looks after campaigns until all have ended, and lets those that park try again.
 *
 * @throws Error saying what stands still when nothing has moved for three minutes
 */
export async function waitForCampaigns({ stack, names, campaignIds, signal }: Watched): Promise<ParkedCampaigns[]> {
  const parked: ParkedCampaigns[] = [];
  let [last, movedAt] = ['', Date.now()];
  while (!signal.aborted) {
    const statuses = await ifThere(() => statusesOf(stack, campaignIds));
    if (statuses?.every(hasEnded)) return parked;
    for (const name of names) parked.push(...((await ifThere(() => resumeIfParked(stack, name))) ?? []));
    const rows = await ifThere(() => rowsOfProgress(stack.pool, campaignIds));
    const open = await ifThere(() => openWorkflows(stack.client));
    const now = `${rows}\n${open && eventsOf(open)}`;
    if (now !== last) [last, movedAt] = [now, Date.now()];
    if (Date.now() - movedAt > standstillMs)
      throw new ChaosError(
        `nothing has moved for ${standstillMs / 1000} s:\n${JSON.stringify(open ?? 'Temporal is away', null, 1)}`,
      );
    await sleep(lookEveryMs);
  }
  return parked;
}

async function statusesOf({ pool }: ChaosStack, ids: readonly number[]): Promise<CampaignStatus[]> {
  const { rows } = await pool.query<{ status: CampaignStatus }>(
    'select status from campaigns where id = any ($1::integer[])',
    [ids],
  );
  return rows.map(({ status }) => status);
}

async function resumeIfParked({ client }: ChaosStack, name: string): Promise<ParkedCampaigns[]> {
  const handle = client.workflow.getHandle(campaignWorkflowId(name));
  return client.connection.withDeadline(Date.now() + answerWithinMs, async () => {
    const { status, progress } = await handle.query(statusQuery);
    if (status !== 'parked') return [];
    await handle.executeUpdate(resumeUpdate, { args: [{ actor: 'chaos', reason: 'the fault is over' }] });
    return [{ name, reason: progress.parked ?? 'for no reason that is known' }];
  });
}
