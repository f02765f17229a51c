import { setTimeout as sleep } from 'node:timers/promises';
import { withTemporalDeadline } from '../client/campaign-run';
import { findTroubles } from '../client/held-work';
import { withConnections, type Connections } from '../client/connections';
import type { Dependencies } from '../activities/context/dependencies';
import type { Config } from '../config';
import type { Logger } from '@temporalio/common';
import { webhookNotifier } from './notifier';
import { messageOf } from '../errors/errors';

/** With the half minute after which a workflow task counts as failing, operators know within a minute. */
const everyMs = 10_000;

type Notify = NonNullable<Dependencies['notify']>;

/**
 * Notifies the operators of campaigns that Temporal does not continue, until `signal` is aborted: such a campaign cannot do it
 * itself. Each trouble is an event of the campaign, so several workers notify once. A failure is only logged.
 */
export async function watchCampaigns(
  config: Config,
  notifyUrl: string,
  logger: Pick<Logger, 'warn'>,
  signal: AbortSignal,
): Promise<void> {
  const notify = webhookNotifier(notifyUrl, logger);
  await withConnections(async (connections) => {
    const seen = new Set<string>();
    while (!signal.aborted) {
      await notifyTroubles(connections, notify, seen).catch((error: unknown) =>
        logger.warn('campaigns are not watched', { message: messageOf(error) }),
      );
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }, config);
}

/**
 * Notifies of the troubles that are new, and stores each. A trouble must have been there at the check before: a campaign that
 * is just being started is not on the Temporal server for a moment.
 *
 * @param seen troubles of the check before; contains those of this check afterwards
 */
export async function notifyTroubles(connections: Connections, notify: Notify, seen: Set<string>): Promise<void> {
  const { campaigns } = connections.store;
  const rows = await campaigns.list();
  const troubles = await withTemporalDeadline(connections, () => findTroubles(connections, rows));
  const lasting = troubles.filter(({ id, key }) => seen.has(`${id} ${key}`));
  seen.clear();
  for (const { id, key } of troubles) seen.add(`${id} ${key}`);
  for (const { campaign, id, status, what, next, key } of lasting) {
    const event = {
      kind: 'attention',
      actor: 'coevolve',
      detail: { status, reason: what, next },
      key: `attention/${key}`,
    };
    if (!(await campaigns.recordEvent(id, event))) continue;
    await notify(campaign, { status, waitsForApproval: false, code: null, reason: what, next });
  }
}
