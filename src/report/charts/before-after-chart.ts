import { interval, rate } from '../../domain/formats';
import type { Chart } from './figure';
import { box, type Mark, marksChart } from './marks-chart';

export type RateWithInterval = { name: string; colour: string; value: number; low: number; high: number };

/** Rates with their intervals, one per row, on the scale [0, 1]. */
export const beforeAfterChart = (title: string, rates: readonly RateWithInterval[]): Chart =>
  marksChart({
    title,
    description: rates
      .map(({ name, value, low, high }) => `${name} ${rate(value)} (${interval(low, high)})`)
      .join('; '),
    height: 34 + 30 * rates.length,
    left: 100,
    x: { scale: { low: 0, high: 1, step: 0.25 }, format: String },
    y: { slots: rates.map(({ name }) => name) },
    marks: rates.flatMap(({ colour, value, low, high }, row): Mark[] => [
      box([low, row - 0.14], [high, row + 0.14], { colour, opacity: 0.3 }),
      { kind: 'dot', at: [value, row], colour, radius: 5 },
    ]),
  });
