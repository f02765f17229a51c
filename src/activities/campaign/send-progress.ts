import type { Phase } from '../../domain/campaign/phases';
import type { IterationProgress } from '../../domain/campaign/progress';
import { progressSignalName } from '../../domain/campaign/progress';
import type { PhaseKey } from '../../store/campaign/iterations';
import { signalCampaign } from '../context/signal-campaign';

/** Progress that an activity sends to a campaign: a signal of the workflow itself would be a row of its own in the UI. */
export type ProgressReport = { campaign: string; progress: IterationProgress };

/** A phase to begin. `report`: sent when it has begun; absent in the histories of 0.1.0. */
export type PhaseToBegin = PhaseKey & { report?: ProgressReport };

/**
 * A phase to commit. `next`: the phase that begins with this commit, and the seconds of the committed one. `report`: the
 * progress before the commit.
 */
export type PhaseToCommit = PhaseKey & {
  next?: { phase: Phase; seconds: number | null; report: ProgressReport };
};

/** Sends progress once, however often the activity is repeated. */
export async function sendProgress({ campaign, progress }: ProgressReport): Promise<void> {
  const { run, number } = progress.sent!;
  await signalCampaign(campaign, progressSignalName, `${run}/${number}`, progress);
}
