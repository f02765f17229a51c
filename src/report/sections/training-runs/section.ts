import { groupBy } from '../../../domain/group-by';
import { note } from '../../page/blocks';
import { count, dollars, duration, nothing, shortHash } from '../../page/format';
import { html } from '../../page/html';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import { listTrainingRuns, type TrainingRun } from './query';

/** Training jobs and their policies. */
export const trainingRunsSection = defineSection({
  id: 'training',
  title: 'Training runs',
  queries: { trainingRuns: listTrainingRuns },
  render({ campaign, trainingRuns }) {
    if (trainingRuns.length === 0) return note('No training job was submitted yet.');
    const prefix = `campaign/${campaign.name}/`;
    const hash = (id: string | null) => (id === null ? nothing : html`<code>${shortHash(id)}</code>`);
    const scheduled = scheduledSettings(trainingRuns);
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
        ...(scheduled.size > 0 ? ['settings by iteration'] : []),
        'rows',
        'tokens',
        ...(cut ? ['rows cut', 'tokens lost', 'actions lost'] : []),
        'time',
        ...(onGpus ? ['GPU time', 'cost'] : []),
      ],
      textColumns: scheduled.size > 0 ? 6 : 5,
      rows: trainingRuns.map((run) => [
        run.jobKey.startsWith(prefix) ? run.jobKey.slice(prefix.length) : run.jobKey,
        run.method,
        run.failure === null ? run.status : html`${run.status} <code>${JSON.stringify(run.failure)}</code>`,
        hash(run.basePolicy),
        hash(run.policyId),
        ...(scheduled.size > 0 ? [scheduled.get(run.jobKey) ?? nothing] : []),
        count(run.datasetRows),
        count(run.tokens),
        ...(cut ? [count(run.rowsCut), count(run.tokensDropped), count(run.actionsDropped)] : []),
        duration(run.seconds),
        ...(onGpus ? [duration(run.gpuSeconds), dollars(run.usd)] : []),
      ]),
    });
  },
});

/** Returns, by job, the settings that differ between the jobs of its method and agent. */
function scheduledSettings(runs: readonly TrainingRun[]): Map<string, string> {
  const scheduled = new Map<string, string>();
  for (const group of groupBy(runs, ({ method, role }) => `${method} ${role}`).values()) {
    const names = Object.keys(group[0]!.settings).filter(
      (name) => new Set(group.map(({ settings }) => JSON.stringify(settings[name]))).size > 1,
    );
    if (names.length === 0) continue;
    for (const { jobKey, settings } of group)
      scheduled.set(jobKey, names.map((name) => `${name} ${JSON.stringify(settings[name])}`).join(', '));
  }
  return scheduled;
}
