import type { CampaignStatus } from '../../store/campaign/campaigns';
import { notifyOperators, type Dependencies } from '../context/dependencies';

export type OperatorCommandEntry = {
  campaignId: number;
  status: CampaignStatus;
  kind: string;
  actor: string;
  reason: string | null;
  /** Idempotency key in the campaign: a repeated key writes nothing. Absent in campaigns of older code. */
  key?: string;
  /** Phase and iteration that the command applies to. */
  phase?: string;
  iteration?: number;
};

/** Stores an operator command with its actor, and the resulting status of the campaign. */
export const recordOperatorCommand =
  ({ store, notify }: Pick<Dependencies, 'store' | 'notify'>) =>
  async ({ campaignId, status, kind, actor, iteration, reason, phase, key }: OperatorCommandEntry): Promise<void> => {
    await store.campaigns.setStatus(campaignId, status);
    await store.campaigns.recordEvent(campaignId, {
      kind,
      actor,
      detail: { reason, ...(phase ? { phase } : {}) },
      ...(iteration === undefined ? {} : { iteration }),
      ...(key ? { key } : {}),
    });
    if (kind === 'parked') await notifyOperators({ store, notify }, campaignId, status, reason);
  };
