import { getExternalWorkflowHandle, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import { progressLine } from '../../domain/training/job-progress';
import { trainingDetails, type JobLine } from '../temporal/details';
import { jobProgressSignal, trainingProgressSignal } from '../temporal/messages';

/**
 * Shows the progress signals of the activity that watches a job, and forwards each as one line to the campaign.
 *
 * @param work description of the job, shown above its progress
 */
export function forwardProgress(role: string, work: string): void {
  const campaignId = workflowInfo().root?.workflowId;
  let forwarded = Promise.resolve(); // one by one: signals that are sent at once may arrive in another order
  setHandler(trainingProgressSignal, async (progress) => {
    setCurrentDetails(trainingDetails(work, progress));
    forwarded = forwarded.then(() =>
      signalCampaign(campaignId, {
        role,
        line: progressLine(progress),
        ...(progress.ended ? { ended: true } : {}),
      }),
    );
    await forwarded;
  });
}

async function signalCampaign(id: string | undefined, progress: JobLine): Promise<void> {
  if (!id) return;
  await getExternalWorkflowHandle(id)
    .signal(jobProgressSignal, progress)
    .catch(() => undefined); // the campaign has ended
}
