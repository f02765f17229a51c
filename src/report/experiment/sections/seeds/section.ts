import { scaleAround } from '../../../charts/axes';
import { type Chart, figure } from '../../../charts/figure';
import { type Mark, marksChart, type Position } from '../../../charts/marks-chart';
import { note } from '../../../page/blocks';
import { html } from '../../../page/html';
import { table } from '../../../page/table';
import { points, pointsRange } from '../../model/points';
import type { ExperimentReport } from '../../model/report';
import { defineSection } from '../../model/section';

/** Value of each seed, joined across arms (figure 1). */
export const seedsSection = defineSection({
  id: 'seeds',
  title: 'Seeds',
  render: ({ analysis }) =>
    analysis.arms.length === 0
      ? null
      : [
          note('A dot per seed; a line joins the arms of one seed, which share start and test tasks.'),
          html`<div class="panels">${figure(strip(analysis.arms), 340)}</div>`,
          table({
            caption: 'Values by seed, in points',
            head: ['seed', ...analysis.arms.map(({ arm }) => arm)],
            rows: seedsOf(analysis.arms).map((seed) => [
              String(seed),
              ...analysis.arms.map(({ values }) => points(valueAt(values, seed))),
            ]),
          }),
        ],
});

type Arms = ExperimentReport['analysis']['arms'];
type Values = Arms[number]['values'];

const seedsOf = (arms: Arms): number[] =>
  [...new Set(arms.flatMap(({ values }) => values.map(({ seed }) => seed)))].sort((a, b) => a - b);

const valueAt = (values: Values, seed: number): number | null =>
  values.find((each) => each.seed === seed)?.value ?? null;

/** Figure 1: dots of seeds, joined across arms; mean and interval of each arm at its right. */
export function strip(arms: Arms): Chart {
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
    title: 'Figure 1. Seeds, in points',
    description: arms
      .map(({ arm, mean, low, high }) => `${arm}: mean ${points(mean)} (${pointsRange(low, high)})`)
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
  const interval: Mark[] =
    low === null || high === null
      ? []
      : [{ kind: 'line', points: [[right, 100 * low], [right, 100 * high]], colour: 'var(--hard)' }]; // prettier-ignore
  return [...dots, ...interval, { kind: 'dot', at: [right, 100 * mean], colour: 'var(--hard)', radius: 5 }];
}
