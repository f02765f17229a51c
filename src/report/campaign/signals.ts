import type pg from 'pg';
import { feedbackSignalKinds } from '../../domain/signals/feedback-signal';
import type { SignalRate } from '../../domain/signals/unchanged-policy';
import { count, decimal, nothing, percent } from '../../domain/formats';
import { number, table, text } from '../../tables/table';
import { barChart } from '../charts/bar-chart';
import { lead, note } from '../page/blocks';
import { panels } from '../page/section';
import { listEnrichments, type EnrichmentRow } from '../../store/trajectories/enrichments';
import { absence, defineSection, iterationsOf, total } from './campaign-data';

/** Feedback signals by iteration and kind. */
export const signalsSection = defineSection({
  id: 'signals',
  title: 'Feedback signals',
  queries: {
    signals: listSignalGroups,
    rates: listSignalRates,
    enrichments: (client, id) => listEnrichments(client, id),
  },
  body({ campaign, signals, rates, enrichments }) {
    if (signals.length === 0) return absence(campaign, 'detect', 'No feedback signal was found');
    const iterations = iterationsOf(signals);
    const find = (iteration: number, kind: string) => signals.find((s) => s.iteration === iteration && s.kind === kind);
    return [
      lead(
        `${count(total(signals, (s) => s.signals))} signals. An attempt may carry several, and a task several attempts.`,
      ),
      panels(
        feedbackSignalKinds.map((kind) =>
          barChart({
            title: kind,
            names: iterations.map(String),
            highest: Math.max(...signals.map((s) => s.signals)),
            parts: [{ colour: `var(--${kind})`, values: iterations.map((i) => find(i, kind)?.signals ?? 0) }],
          }),
        ),
      ),
      table('Feedback signals by kind', iterations, [
        text('iteration', (iteration) => iteration),
        ...feedbackSignalKinds.flatMap((kind) => [
          number<number>(kind, (iteration) => find(iteration, kind)?.signals ?? 0),
          number<number>('tasks', (iteration) => find(iteration, kind)?.tasks ?? 0),
        ]),
      ]),
      note(
        'An unchanged policy: the mean number of flagged tasks after the attempts of each task were exchanged at random ' +
          'between the iterations of the forgetting window. The share that is left is not explained by chance; a boundary ' +
          'or rare signal needs no change of the policy.',
      ),
      table('Flagged tasks and those of an unchanged policy', rates, [
        text('iteration', (row) => row.iteration),
        text('signal', (row) => row.kind),
        number('tasks played', (row) => row.played),
        number('flagged', (row) => row.flagged),
        number('share', (row) => percent(row.flagged / row.played)),
        number('unchanged policy', (row) => decimal(row.unchanged, 1)),
        number('not by chance', ({ flagged, unchanged }) =>
          flagged === 0 ? nothing : percent(Math.max(0, 1 - unchanged / flagged)),
        ),
      ]),
      ...(enrichments.length === 0 ? [] : enrichmentBlocks(enrichments)),
    ];
  },
});

/** How much of what each signal marks is in the steps from its flags to the pool. */
const enrichmentBlocks = (enrichments: readonly EnrichmentRow[]) => [
  note(
    'Enrichment: the share of flagged tasks in the clusters of a step, over that in the clusters of the played tasks. At 1 ' +
      'a step has as much of what the signal flags as a blind draw; below 1 it leads away from it. The flag of a task ' +
      'does not count for its own descendants. A cluster is a pattern of the generator, or for composed tasks a set of action names.',
  ),
  table('Enrichment by step', enrichments, [
    text('iteration', (row) => row.iteration),
    text('signal', (row) => row.kind),
    number('flagged tasks', (row) => row.flagged),
    ...(['parents', 'candidates', 'admitted'] as const).flatMap((step) => [
      number<EnrichmentRow>(step, (row) => row[step].tasks),
      number<EnrichmentRow>('enrichment', (row) => decimal(row[step].ratio)),
    ]),
  ]),
];

export type SignalGroup = { iteration: number; kind: string; signals: number; tasks: number };

/** Counts feedback signals and their distinct tasks by iteration and kind. */
export async function listSignalGroups(client: pg.ClientBase, campaignId: number): Promise<SignalGroup[]> {
  const { rows } = await client.query<SignalGroup>(
    `select iteration, kind, count(*)::int as signals, count(distinct task_id)::int as tasks
       from reporting.signals
      where campaign_id = $1::int
      group by iteration, kind
      order by iteration, kind`,
    [campaignId],
  );
  return rows;
}

export type SignalRateRow = SignalRate & { iteration: number };

/** Lists flagged tasks by iteration and kind, with those that an unchanged policy would have. */
export async function listSignalRates(client: pg.ClientBase, campaignId: number): Promise<SignalRateRow[]> {
  const { rows } = await client.query<SignalRateRow>(
    `select iteration, kind, played, flagged, unchanged, permutations
       from reporting.signal_rates
      where campaign_id = $1::int and played > 0
      order by iteration, kind`,
    [campaignId],
  );
  return rows;
}
