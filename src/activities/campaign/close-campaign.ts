import { sessionHolder } from '../../domain/campaign/ids';
import type { CampaignStatus } from '../../store/campaign/campaigns';
import type { Dependencies } from '../base/dependencies';

/** Ends a campaign: its row, what it had reserved, its sessions, its report. Nothing of it is at work any more. */
export const closeCampaign =
  ({ store, closeLeases, writeReport }: Dependencies) =>
  async ({ campaignId, status }: { campaignId: number; status: CampaignStatus }): Promise<void> => {
    if (status === 'aborted') await store.iterations.fence(campaignId); // what was cut off and goes on writes nothing
    await store.cleanup.closeOpenRequests(campaignId);
    await store.campaigns.setStatus(campaignId, status);
    await closeLeases(sessionHolder(campaignId)); // of attempts whose worker was cut off
    await writeReport(campaignId); // once more, so that it says that the campaign has ended
  };
