import { feedbackSignalKinds } from '../../../domain/signals/feedback-signal';
import { barChart } from '../../charts/bar-chart';
import { panels } from '../../charts/figure';
import { absence, lead, note } from '../../page/blocks';
import { count, nothing, percent } from '../../page/format';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import { listSignalGroups, listSignalRates } from './query';

/** Feedback signals by iteration and kind. */
export const signalsSection = defineSection({
  id: 'signals',
  title: 'Feedback signals',
  queries: { signals: listSignalGroups, rates: listSignalRates },
  render({ campaign, signals, rates }) {
    if (signals.length === 0) return absence(campaign, 'detect', 'No feedback signal was found');
    const iterations = [...new Set(signals.map(({ iteration }) => iteration))];
    const find = (iteration: number, kind: string) => signals.find((s) => s.iteration === iteration && s.kind === kind);
    const highest = Math.max(...signals.map((s) => s.signals));
    const total = signals.reduce((sum, s) => sum + s.signals, 0);
    return [
      lead(`${count(total)} signals. An attempt may carry several, and a task several attempts.`),
      panels(
        feedbackSignalKinds.map((kind) =>
          barChart({
            title: kind,
            names: iterations.map(String),
            highest,
            parts: [{ colour: `var(--${kind})`, values: iterations.map((i) => find(i, kind)?.signals ?? 0) }],
          }),
        ),
      ),
      table({
        caption: 'Feedback signals by kind',
        head: ['iteration', ...feedbackSignalKinds.flatMap((kind) => [kind, 'tasks'])],
        rows: iterations.map((iteration) => [
          String(iteration),
          ...feedbackSignalKinds.flatMap((kind) => {
            const found = find(iteration, kind);
            return [count(found?.signals ?? 0), count(found?.tasks ?? 0)];
          }),
        ]),
      }),
      note(
        'An unchanged policy: the mean number of flagged tasks after the attempts of each task were exchanged at random ' +
          'between the iterations of the forgetting window. The share that is left is not explained by chance; a boundary ' +
          'or rare signal needs no change of the policy.',
      ),
      table({
        caption: 'Flagged tasks and those of an unchanged policy',
        head: ['iteration', 'signal', 'tasks played', 'flagged', 'share', 'unchanged policy', 'not by chance'],
        textColumns: 2,
        rows: rates.map(({ iteration, kind, played, flagged, unchanged }) => [
          String(iteration),
          kind,
          count(played),
          count(flagged),
          percent(flagged / played),
          unchanged.toFixed(1),
          flagged === 0 ? nothing : percent(Math.max(0, 1 - unchanged / flagged)),
        ]),
      }),
    ];
  },
});
