import { log } from '@temporalio/activity';
import type { Logger } from '@temporalio/common';
import type { CampaignNotification } from '../activities/context/dependencies';
import { outboundFetch } from '../requests/outbound-fetch';

/** Text of a message for a chat program, which shows `text`; the other keys are for programs. */
type Message = CampaignNotification & { campaign: string; text: string };

const timeoutMs = 10_000;

/**
 * Returns a function that posts notifications of a campaign to a webhook as JSON. A failure is only logged: a webhook that is
 * unavailable must not delay a campaign. A crash after the post sends it again.
 *
 * @param url    http or https; it may contain a secret, so that no message contains it
 * @param logger of the running activity by default
 */
export const webhookNotifier =
  (url: string, logger: Pick<Logger, 'warn'> = log) =>
  async (campaign: string, notification: CampaignNotification): Promise<void> => {
    const message: Message = { campaign, ...notification, text: notificationText(campaign, notification) };
    try {
      const response = await outboundFetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.body?.cancel();
      if (!response.ok) logger.warn(`the webhook answered ${response.status}`, { campaign });
    } catch (error) {
      logger.warn(`the webhook is unavailable: ${error instanceof Error ? error.name : 'unknown error'}`, { campaign });
    }
  };

function notificationText(campaign: string, { status, waitsForApproval, reason, next }: CampaignNotification): string {
  const what = waitsForApproval ? 'waits for approval' : `is ${status}`;
  return `campaign ${campaign} ${what}${reason === null ? '' : `: ${reason}`}${next === null ? '' : `. Next: ${next}`}`;
}
