import { duration } from '../../domain/formats';
import type { Chart } from './figure';
import { box, type Mark, marksChart } from './marks-chart';

export type Span = { name: string; startS: number; seconds: number };

/** Spans of time, one per row, each at its start and labelled with its duration. */
export function timelineChart(title: string, spans: readonly Span[], totalS: number): Chart {
  const step = steps.find((seconds) => totalS / seconds < 4) ?? steps.at(-1)! * Math.ceil(totalS / steps.at(-1)! / 4);
  return marksChart({
    title,
    description: spans.map(({ name, seconds }) => `${name} ${duration(seconds)}`).join(', '),
    height: 26 + 19 * spans.length,
    left: 72,
    right: 66,
    x: { scale: { low: 0, high: totalS, step }, format: (s) => (s % step === 0 ? shortDuration(s) : '') },
    y: { slots: spans.map(({ name }) => name) },
    marks: spans.flatMap(({ startS, seconds }, row): Mark[] => {
      const end = startS + Math.max(seconds, totalS / 150); // a phase of length 0 stays visible
      return [
        box([startS, row - 0.26], [end, row + 0.26], { colour: 'var(--neutral)' }),
        { kind: 'text', at: [end, row], text: duration(seconds), side: 'right' },
      ];
    }),
  });
}

/** Distances between grid lines, in seconds. */
const steps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 86_400];

function shortDuration(seconds: number): string {
  if (seconds === 0) return '0';
  if (seconds < 60) return `${seconds} s`;
  return seconds < 7200 ? `${seconds / 60} min` : `${seconds / 3600} h`;
}
