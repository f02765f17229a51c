import { sessionHolder } from '../../domain/campaign/ids';
import type { CampaignStatus } from '../../store/campaign/campaigns';
import { notifyOperators, type Dependencies } from '../context/dependencies';

/** Ends a campaign after its activities: sets its status, closes open requests and sessions, and writes its report. */
export const closeCampaign =
  ({ store, closeLeases, writeReport, notify }: Dependencies) =>
  async ({ campaignId, status }: { campaignId: number; status: CampaignStatus }): Promise<void> => {
    if (status === 'aborted') await store.iterations.fence(campaignId); // rejects writes of activities that were given up but still run
    await store.cleanup.closeOpenRequests(campaignId);
    await store.campaigns.setStatus(campaignId, status);
    await closeLeases(sessionHolder(campaignId)); // of attempts whose worker was lost
    await writeReport(campaignId); // shows the final status
    await notifyOperators({ store, notify }, campaignId, { status, code: null, reason: null });
  };
