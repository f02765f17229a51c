import type pg from 'pg';
import { groupBy } from '../../domain/group-by';
import { count, dollars, duration, percent, shortHash } from '../../domain/formats';
import { code, type Column, number, table, text } from '../../tables/table';
import { note } from '../page/blocks';
import { defineSection } from './campaign-data';

/** Training jobs and their policies. */
export const trainingRunsSection = defineSection({
  id: 'training',
  title: 'Training runs',
  queries: { trainingRuns: listTrainingRuns },
  body({ campaign, trainingRuns }) {
    if (trainingRuns.length === 0) return note('No training job was submitted yet.');
    const prefix = `campaign/${campaign.name}/`;
    const scheduled = scheduledSettings(trainingRuns);
    const onGpus = trainingRuns.some(({ gpuSeconds }) => gpuSeconds > 0);
    const isCut = trainingRuns.some(({ rowsCut }) => (rowsCut ?? 0) > 0);
    const optional = (isShown: boolean, ...columns: Column<TrainingRun>[]) => (isShown ? columns : []);
    return table('Jobs in the order of submission', trainingRuns, [
      text('job', ({ jobKey }) => (jobKey.startsWith(prefix) ? jobKey.slice(prefix.length) : jobKey)),
      text('method', (run) => run.method),
      text('status', ({ status, failure }) =>
        failure === null ? status : `${status}: ${failure.message} (${failure.type})`,
      ),
      code('from', (run) => run.basePolicy && shortHash(run.basePolicy)),
      code('policy', (run) => run.policyId && shortHash(run.policyId)),
      ...optional(
        scheduled.size > 0,
        text('settings by iteration', (run) => scheduled.get(run.jobKey) ?? null),
      ),
      number('rows', (run) => run.datasetRows),
      number('tokens', (run) => run.tokens, count),
      ...optional(
        isCut,
        number('rows cut', (run) => run.rowsCut),
        number('tokens lost', (run) => run.tokensDropped),
        number('actions lost', (run) => run.actionsDropped),
        number('of all', ({ actions, actionsDropped }) => actions && (actionsDropped ?? 0) / actions, percent),
      ),
      number('time', (run) => run.seconds, duration),
      ...optional(
        onGpus,
        number('GPU time', (run) => run.gpuSeconds, duration),
        number('cost', (run) => run.usd, dollars),
      ),
    ]);
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

export type TrainingRun = {
  jobKey: string;
  iteration: number;
  role: string;
  method: string;
  status: string;
  datasetRows: number;
  /** All settings of the job, in the trainer's names. */
  settings: Record<string, unknown>;
  tokens: number | null;
  seconds: number | null;
  /** Rows that lengths cut, and the tokens and actions lost; null if the job has not succeeded. */
  rowsCut: number | null;
  tokensDropped: number | null;
  actionsDropped: number | null;
  /** All actions; null also from a trainer that did not count them. */
  actions: number | null;
  /** Seconds times GPUs, and US dollars, from the ledger; failed jobs included. */
  gpuSeconds: number;
  usd: number;
  basePolicy: string | null;
  policyId: string | null;
  failure: { type: string; message: string } | null;
};

/** Lists training jobs in the order of iterations and submission. */
export async function listTrainingRuns(client: pg.ClientBase, campaignId: number): Promise<TrainingRun[]> {
  const { rows } = await client.query<TrainingRun>(
    `select r.id as "jobKey", r.iteration, r.role, r.method, r.status, r.dataset_rows as "datasetRows", r.settings,
            coalesce(r.tokens::float8, paid.tokens) as tokens,
            (r.truncation ->> 'rows_cut')::float8 as "rowsCut",
            (r.truncation ->> 'tokens_dropped')::float8 as "tokensDropped",
            (r.truncation ->> 'actions_dropped')::float8 as "actionsDropped",
            nullif((r.truncation ->> 'actions')::float8, 0) as actions,
            coalesce(r.seconds, paid.seconds) as seconds,
            coalesce(paid.gpu_seconds, 0) as "gpuSeconds",
            coalesce(paid.usd, 0) as usd,
            r.base_policy as "basePolicy", r.policy_id as "policyId", r.failure
       from reporting.training_runs r
       left join lateral (
         select max(amount) filter (where unit = 'tokens') as tokens, max(amount) filter (where unit = 'seconds') as seconds,
                max(amount) filter (where unit = 'gpu-seconds') as gpu_seconds, max(amount) filter (where unit = 'usd') as usd
           from reporting.spending l
          where l.campaign_id = r.campaign_id and l.key = r.id and l.entry = 'settle') paid on true
      where r.campaign_id = $1::int
      order by r.iteration, r.submitted_at, r.id`,
    [campaignId],
  );
  return rows;
}
