import { sessionHolder } from '../domain/ids';
import type { CampaignStatus } from '../store/campaigns';
import type { Services } from './services';

export const closeCampaign =
  ({ store, closeLeases, writeReport }: Services) =>
  async ({ campaignId, status }: { campaignId: number; status: CampaignStatus }): Promise<void> => {
    await store.campaigns.setStatus(campaignId, status);
    await closeLeases(sessionHolder(campaignId)); // of attempts whose worker was cut off
    await writeReport(campaignId); // once more, so that it says that the campaign has ended
  };
