import type { CampaignReport } from '../../collect-report';
import { html } from '../../page/html';
import { count, dollars, duration, nothing, shortHash } from '../../page/format';
import { note, type Section } from '../../page/blocks';
import { table } from '../../page/table';

/** Section 7: the training jobs, and the policies that they made. */
export function trainingRunsSection({ trainingRuns, campaign }: CampaignReport): Section {
  const base = { id: 'training', title: 'Training runs' };
  if (trainingRuns.length === 0) return { ...base, body: note('No training job was submitted yet.') };
  const prefix = `campaign/${campaign.name}/`;
  const hash = (id: string | null) => (id === null ? nothing : html`<code>${shortHash(id)}</code>`);
  const onGpus = trainingRuns.some(({ gpuSeconds }) => gpuSeconds > 0);
  return {
    ...base,
    body: table({
      caption: 'Jobs in the order in which they were submitted',
      head: [
        'job',
        'method',
        'status',
        'from',
        'policy',
        'rows',
        'tokens',
        'time',
        ...(onGpus ? ['GPU time', 'cost'] : []),
      ],
      textColumns: 5,
      rows: trainingRuns.map((run) => [
        run.jobKey.startsWith(prefix) ? run.jobKey.slice(prefix.length) : run.jobKey,
        run.method,
        run.failure === null ? run.status : html`${run.status} <code>${JSON.stringify(run.failure)}</code>`,
        hash(run.basePolicy),
        hash(run.policyId),
        count(run.datasetRows),
        count(run.tokens),
        duration(run.seconds),
        ...(onGpus ? [duration(run.gpuSeconds), dollars(run.usd)] : []),
      ]),
    }),
  };
}
