import { scaleAround } from '../../../charts/axes';
import { type Chart, figure } from '../../../charts/figure';
import { type Mark, marksChart } from '../../../charts/marks-chart';
import { note } from '../../../page/blocks';
import { count, shortHash } from '../../../page/format';
import { type Content, html } from '../../../page/html';
import { table } from '../../../page/table';
import { pValue } from '../../model/points';
import type { ExperimentReport, FlippedTask } from '../../model/report';
import { defineSection } from '../../model/section';

/** Tasks that one arm alone solved, by contrast and seed (figure 8). */
export const tasksSection = defineSection({
  id: 'tasks',
  title: 'Tasks won and lost',
  render({ analysis, flips }) {
    const contrasts = [...new Set(analysis.wonAndLost.map(({ contrast }) => contrast))];
    if (contrasts.length === 0) return null;
    return [
      note('Exact McNemar p of one pair of checkpoints on these tasks: it says nothing of the methods.'),
      html`<div class="panels">${contrasts.map((name) => figure(seedBars(name, analysis.wonAndLost), 340))}</div>`,
      table({
        caption: 'Tasks that one arm alone solved, by contrast and seed',
        head: ['contrast', 'seed', 'won', 'lost', 'McNemar p'],
        rows: analysis.wonAndLost.map(({ contrast, seed, won, lost, p }) => [
          contrast,
          String(seed),
          count(won),
          count(lost),
          pValue(p),
        ]),
      }),
      ...(flips.length === 0 ? [] : [flipTable(flips)]),
    ];
  },
});

type Counts = ExperimentReport['analysis']['wonAndLost'];

/** Figure 8: won tasks to the right, lost ones to the left. */
function seedBars(contrast: string, all: Counts): Chart {
  const rows = all.filter((row) => row.contrast === contrast);
  const largest = Math.max(1, ...all.flatMap(({ won, lost }) => [won, lost]));
  const bar = (row: number, end: number, colour: string): Mark[] => [
    { kind: 'area', points: [[0, row - 0.3], [end, row - 0.3], [end, row + 0.3], [0, row + 0.3]], colour }, // prettier-ignore
    { kind: 'text', at: [end, row], text: String(Math.abs(end)), side: end < 0 ? 'left' : 'right' },
  ];
  return marksChart({
    title: `Figure 8. ${contrast}: tasks lost and won, by seed`,
    description: rows.map(({ seed, won, lost }) => `seed ${seed}: ${won} won, ${lost} lost`).join(', '),
    x: { scale: scaleAround([-1.25 * largest, 1.25 * largest]), format: (value) => String(Math.abs(value)) },
    y: { slots: rows.map(({ seed }) => `seed ${seed}`) },
    left: 54,
    height: 40 + 22 * rows.length,
    marks: rows.flatMap(({ won, lost }, row) => [
      ...bar(row, won, 'var(--positive)'),
      ...bar(row, -lost, 'var(--hard)'),
    ]),
  });
}

/** Attempts of both arms; `coevolve trajectory <attempt>` prints one. */
const flipTable = (flips: readonly FlippedTask[]): Content =>
  table({
    caption: 'Attempts behind tasks won and lost: coevolve trajectory <attempt>',
    head: ['contrast', 'seed', 'task', 'result', 'attempt of the first arm', 'attempt of the second'],
    textColumns: 6,
    rows: flips.map(({ contrast, seed, task, won, plusAttempt, minusAttempt }) => [
      contrast,
      String(seed),
      html`<code>${shortHash(task)}</code>`,
      won ? 'won' : 'lost',
      ...[plusAttempt, minusAttempt].map((attempt) => html`<code>${attempt ?? 'not in this database'}</code>`),
    ]),
  });
