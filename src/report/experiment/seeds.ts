import { interval, points, signedPoints } from '../../domain/formats';
import { number, table, text } from '../../tables/table';
import { scaleAround } from '../charts/axes';
import type { Chart } from '../charts/figure';
import { type Mark, marksChart, type Position, segment } from '../charts/marks-chart';
import { note } from '../page/blocks';
import { panels, type Section } from '../page/section';
import { withinRange } from './arms';
import type { ExperimentReport } from './report';

/** Value of each seed, joined across arms (figure 2). */
export const seedsSection: Section<ExperimentReport> = {
  id: 'seeds',
  title: 'Seeds',
  body({ analysis: { arms } }) {
    if (arms.length === 0) return null;
    return [
      note('A dot per seed; a line joins the arms of one seed, which share start and test tasks.'),
      panels([strip(arms.map(withinRange))], 340),
      table('Values by seed, in points', seedsOf(arms), [
        text('seed', (seed) => seed),
        ...arms.map(({ arm, values }) => number<number>(arm, (seed) => valueAt(values, seed), points)),
      ]),
    ];
  },
};

type Arms = ExperimentReport['analysis']['arms'];
type Values = Arms[number]['values'];

const seedsOf = (arms: Arms): number[] =>
  [...new Set(arms.flatMap(({ values }) => values.map(({ seed }) => seed)))].sort((a, b) => a - b);

const valueAt = (values: Values, seed: number): number | null =>
  values.find((each) => each.seed === seed)?.value ?? null;

/** Figure 2: dots of seeds, joined across arms; mean and interval of each arm at its right. */
function strip(arms: Arms): Chart {
  const all = arms.flatMap(({ values, low, high }) => [...values.map(({ value }) => value), low, high]);
  const scale = scaleAround(all.filter((value) => value !== null).map((value) => 100 * value));
  const joined = seedsOf(arms).map((seed): Mark => {
    const found = arms.flatMap(({ values }, x): Position[] => {
      const value = valueAt(values, seed);
      return value === null ? [] : [[x, 100 * value]];
    });
    return { kind: 'line', points: found, colour: 'var(--incumbent)', width: 1, opacity: 0.6 };
  });
  return marksChart({
    title: 'Figure 2. Seeds, in points',
    description: arms
      .map(({ arm, mean, low, high }) => `${arm}: mean ${points(mean)} (${interval(low, high, signedPoints)})`)
      .join('; '),
    x: { slots: arms.map(({ arm }) => arm) },
    y: { scale, format: String },
    height: 260,
    marks: [...joined, ...arms.flatMap(armMarks)],
  });
}

function armMarks({ values, mean, low, high }: Arms[number], x: number): Mark[] {
  const dots = values.map(({ value }): Mark => ({
    kind: 'dot',
    at: [x, 100 * value],
    colour: 'var(--target)',
    radius: 3,
  }));
  if (mean === null) return dots;
  const right = x + 0.16;
  const bounds: Mark[] =
    low === null || high === null ? [] : [segment([right, 100 * low], [right, 100 * high], { colour: 'var(--hard)' })];
  return [...dots, ...bounds, { kind: 'dot', at: [right, 100 * mean], colour: 'var(--hard)', radius: 5 }];
}
