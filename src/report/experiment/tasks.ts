import { pValue, shortHash } from '../../domain/formats';
import { code, number, properties, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { box, type Mark, marksChart } from '../charts/marks-chart';
import { note } from '../page/blocks';
import { panels, type Section } from '../page/section';
import type { ExperimentReport } from './report';

/** Tasks that one arm alone solved, by contrast and seed (figure 6). */
export const tasksSection: Section<ExperimentReport> = {
  id: 'tasks',
  title: 'Tasks won and lost',
  body({ analysis: { wonAndLost }, flips }) {
    const contrasts = [...new Set(wonAndLost.map(({ contrast }) => contrast))];
    if (contrasts.length === 0) return null;
    return [
      note('Exact McNemar p of one pair of checkpoints on these tasks: it says nothing of the methods.'),
      panels(contrasts.map((name) => seedBars(name, wonAndLost)), 340), // oxfmt-ignore
      table('Tasks that one arm alone solved, by contrast and seed', wonAndLost, [
        text('contrast', (row) => row.contrast),
        number('seed', (row) => row.seed, String),
        ...properties('won', 'lost'),
        number('McNemar p', (row) => row.p, pValue),
      ]),
      flips.length > 0 &&
        table('Attempts behind tasks won and lost: coevolve trajectory <attempt>', flips, [
          text('contrast', (flip) => flip.contrast),
          text('seed', (flip) => flip.seed),
          code('task', (flip) => shortHash(flip.task)),
          text('result', (flip) => (flip.won ? 'won' : 'lost')),
          code('attempt of the first arm', (flip) => flip.plusAttempt ?? 'not in this database'),
          code('attempt of the second', (flip) => flip.minusAttempt ?? 'not in this database'),
        ]),
    ];
  },
};

type Counts = ExperimentReport['analysis']['wonAndLost'];

/** Figure 6: won tasks to the right, lost ones to the left. */
function seedBars(contrast: string, all: Counts): Chart {
  const rows = all.filter((row) => row.contrast === contrast);
  const largest = Math.max(1, ...all.flatMap(({ won, lost }) => [won, lost]));
  const bar = (row: number, end: number, colour: string): Mark[] => [
    box([0, row - 0.3], [end, row + 0.3], { colour }),
    { kind: 'text', at: [end, row], text: String(Math.abs(end)), side: end < 0 ? 'left' : 'right' },
  ];
  return marksChart({
    title: `Figure 6. ${contrast}: tasks lost and won, by seed`,
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
