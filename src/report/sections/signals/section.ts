import { feedbackSignalKinds } from '../../../domain/signals/feedback-signal';
import { barChart } from '../../charts/bar-chart';
import { panels } from '../../charts/figure';
import { absence, lead } from '../../page/blocks';
import { count } from '../../page/format';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import { listSignalGroups } from './query';

/** Feedback signals by iteration and kind. */
export const signalsSection = defineSection({
  id: 'signals',
  title: 'Feedback signals',
  queries: { signals: listSignalGroups },
  render({ campaign, signals }) {
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
    ];
  },
});
