import { feedbackSignalKinds } from '../../../domain/signals/feedback-signal';
import type { CampaignReport } from '../../collect-report';
import { barChart } from '../../charts/bar-chart';
import { count } from '../../page/format';
import { absence, lead, panels, type Section } from '../../page/blocks';
import { table } from '../../page/table';

/** Section 3: what the attempts revealed. */
export function signalsSection(report: CampaignReport): Section {
  const { signals } = report;
  const base = { id: 'signals', title: 'Feedback signals' };
  if (signals.length === 0) return { ...base, body: absence(report, 'detect', 'No feedback signal was found') };
  const iterations = [...new Set(signals.map(({ iteration }) => iteration))];
  const find = (iteration: number, kind: string) => signals.find((s) => s.iteration === iteration && s.kind === kind);
  const highest = Math.max(...signals.map((s) => s.signals));
  const total = signals.reduce((sum, s) => sum + s.signals, 0);
  return {
    ...base,
    body: [
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
    ],
  };
}
