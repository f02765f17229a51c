import { workflowInfo } from '@temporalio/workflow';
import { readCampaignMemo } from '../../domain/campaign/memo';

/** Returns the details of a workflow below a link to its page, where the address of the page was known at its start. */
export function withPageLink(details: string, path: `/${'c' | 'e'}/${string}`): string {
  const pageUrl = readCampaignMemo(workflowInfo().memo)?.pageUrl;
  return pageUrl === undefined ? details : `[Page and report](${pageUrl}${path})\n\n${details}`;
}
