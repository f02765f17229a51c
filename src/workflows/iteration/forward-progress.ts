import { getExternalWorkflowHandle, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import { newsLine } from '../../domain/training/training-progress';
import { trainingDetails } from '../campaign/details';
import { jobNewsSignal, trainingNewsSignal } from '../messages';

/**
 * Shows what the activity that watches a job tells of it: here, and in a line on the campaign's page.
 *
 * @param work what the job does, in words
 */
export function passOnNews(role: string, work: string): void {
  const campaign = workflowInfo().root?.workflowId;
  let passedOn = Promise.resolve(); // one after the other: signals that are sent at once may arrive in another order
  setHandler(trainingNewsSignal, async (news) => {
    setCurrentDetails(trainingDetails(work, news));
    passedOn = passedOn.then(() => tellCampaign(campaign, { role, line: newsLine(news) }));
    await passedOn;
  });
}

/** A campaign that has ended needs no news. */
async function tellCampaign(campaign: string | undefined, news: { role: string; line: string }): Promise<void> {
  if (!campaign) return;
  await getExternalWorkflowHandle(campaign)
    .signal(jobNewsSignal, news)
    .catch(() => undefined);
}
