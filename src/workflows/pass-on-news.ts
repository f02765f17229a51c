import { getExternalWorkflowHandle, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';
import { newsLine } from '../domain/training-news';
import { trainingDetails } from './campaign-details';
import { jobNewsSignal, trainingNewsSignal } from './messages';

/**
 * Shows what the activity that watches a job tells of it: here, and in a line on the campaign's page.
 *
 * @param work what the job does, in words
 */
export function passOnNews(role: string, work: string): void {
  const campaign = workflowInfo().root?.workflowId;
  setHandler(trainingNewsSignal, async (news) => {
    setCurrentDetails(trainingDetails(work, news));
    if (!campaign) return;
    const told = getExternalWorkflowHandle(campaign).signal(jobNewsSignal, { role, line: newsLine(news) });
    await told.catch(() => undefined); // a campaign that has ended needs no news
  });
}
