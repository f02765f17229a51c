import { getExternalWorkflowHandle, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import { progressLine } from '../../domain/training/training-progress';
import { trainingDetails } from '../campaign/details';
import { jobProgressSignal, trainingProgressSignal } from '../messages';

/**
 * Shows what the activity that watches a job tells of it: here, and in a line on the campaign's page.
 *
 * @param work what the job does, in words
 */
export function forwardProgress(role: string, work: string): void {
  const campaign = workflowInfo().root?.workflowId;
  let passedOn = Promise.resolve(); // one after the other: signals that are sent at once may arrive in another order
  setHandler(trainingProgressSignal, async (news) => {
    setCurrentDetails(trainingDetails(work, news));
    passedOn = passedOn.then(() => tellCampaign(campaign, { role, line: progressLine(news) }));
    await passedOn;
  });
}

/** A campaign that has ended needs no news. */
async function tellCampaign(campaign: string | undefined, news: { role: string; line: string }): Promise<void> {
  if (!campaign) return;
  await getExternalWorkflowHandle(campaign)
    .signal(jobProgressSignal, news)
    .catch(() => undefined);
}
