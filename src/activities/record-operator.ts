import type { CampaignStatus } from '../store/campaigns';
import type { Services } from './services';

export type OperatorAction = {
  campaignId: number;
  status: CampaignStatus;
  kind: string;
  actor: string;
  reason: string | null;
};

/** Writes down who did what, and the status that it led to. */
export const recordOperator =
  ({ store }: Services) =>
  async ({ campaignId, status, kind, actor, reason }: OperatorAction): Promise<void> => {
    await store.campaigns.setStatus(campaignId, status);
    await store.campaigns.recordEvent(campaignId, { kind, actor, detail: { reason } });
  };
