import type { CampaignStatus } from '../../store/campaign/campaigns';
import type { Dependencies } from '../base/dependencies';

export type OperatorCommandEntry = {
  campaignId: number;
  status: CampaignStatus;
  kind: string;
  actor: string;
  reason: string | null;
  /** Of this entry among all of the campaign: the same key again writes nothing. Absent from campaigns of older code. */
  key?: string;
  /** What was given up, and where. */
  phase?: string;
  iteration?: number;
};

/** Writes down who did what, and the status that it led to. */
export const recordOperatorCommand =
  ({ store }: Dependencies) =>
  async ({ campaignId, status, kind, actor, iteration, reason, phase, key }: OperatorCommandEntry): Promise<void> => {
    await store.campaigns.setStatus(campaignId, status);
    await store.campaigns.recordEvent(campaignId, {
      ...{ kind, actor, detail: { reason, ...(phase ? { phase } : {}) } },
      ...(iteration === undefined ? {} : { iteration }),
      ...(key ? { key } : {}),
    });
  };
