import { note } from '../../page/blocks';
import { count, dollars, duration, nothing, shortHash } from '../../page/format';
import { html } from '../../page/html';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import { listTrainingRuns } from './query';

/** Training jobs and their policies. */
export const trainingRunsSection = defineSection({
  id: 'training',
  title: 'Training runs',
  queries: { trainingRuns: listTrainingRuns },
  render({ campaign, trainingRuns }) {
    if (trainingRuns.length === 0) return note('No training job was submitted yet.');
    const prefix = `campaign/${campaign.name}/`;
    const hash = (id: string | null) => (id === null ? nothing : html`<code>${shortHash(id)}</code>`);
    const onGpus = trainingRuns.some(({ gpuSeconds }) => gpuSeconds > 0);
    const cut = trainingRuns.some(({ rowsCut }) => (rowsCut ?? 0) > 0);
    return table({
      caption: 'Jobs in the order of submission',
      head: [
        'job',
        'method',
        'status',
        'from',
        'policy',
        'rows',
        'tokens',
        ...(cut ? ['rows cut', 'tokens lost', 'actions lost'] : []),
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
        ...(cut ? [count(run.rowsCut), count(run.tokensDropped), count(run.actionsDropped)] : []),
        duration(run.seconds),
        ...(onGpus ? [duration(run.gpuSeconds), dollars(run.usd)] : []),
      ]),
    });
  },
});
