import { log } from '@temporalio/activity';
import {
  attemptProgressSignalName,
  maxAttemptSignals,
  type AttemptProgress,
} from '../../domain/campaign/attempt-progress';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { plannedPerTask } from '../../specification/iteration-plan';
import type { CampaignRow } from '../../store/campaign/campaigns';
import { signalCampaign } from '../context/signal-campaign';
import type { Dependencies } from '../context/dependencies';
import type { RolloutBatch } from './planned-attempt';

type Counting = { store: { attemptCounts: Pick<Dependencies['store']['attemptCounts'], 'count'> } };
type Campaign = Pick<CampaignRow<CampaignSpec>, 'name' | 'spec'>;

/** Last report of a campaign's current rollout by this worker. */
type LastReport = { rollout: string; at: number; share: number };

const defaultIntervalMs = 10_000;

/**
 * Signals a campaign how many attempts of its running rollout are stored, for its details in the Temporal UI. Rollouts
 * that end within the interval send nothing. The id of a signal names its share of the rollout, so the server
 * accepts each share once, whichever worker reaches it first. A lost signal does not affect the rollout.
 */
export function attemptReporter({ store }: Counting, intervalMs = defaultIntervalMs) {
  const reports = new Map<number, LastReport>();
  return async (batch: RolloutBatch, campaign: Campaign): Promise<void> => {
    const { campaignId, iteration, epoch, purpose, step } = batch;
    const rollout = [iteration, epoch, purpose, step].join('/');
    const now = Date.now();
    const last = reports.get(campaignId);
    if (last?.rollout !== rollout) return void reports.set(campaignId, { rollout, at: now, share: 0 });
    if (now - last.at < intervalMs) return;
    last.at = now;
    try {
      const counts = await store.attemptCounts.count(batch, plannedPerTask(batch, campaign.spec));
      const share = Math.floor((maxAttemptSignals * counts.done) / Math.max(1, counts.planned));
      if (share <= last.share || counts.done >= counts.planned) return;
      last.share = share;
      const progress: AttemptProgress = { iteration, purpose, step, ...counts };
      await signalCampaign(campaign.name, attemptProgressSignalName, `${rollout}/${share}`, progress);
    } catch (error) {
      log.warn('failed to report the progress of a rollout; it continues', { error: String(error) });
    }
  };
}
