import { duration } from '../quantities';
import type { Chart } from './figure';

export type Span = { name: string; startS: number; seconds: number };

/** Spans of time below each other, each from where it began, with its length written beside it. */
export function timelineChart(title: string, spans: readonly Span[], totalS: number): Chart {
  const height = 26 + 19 * spans.length;
  const names = { color: 'var(--muted)', fontSize: 11, fontFamily: 'inherit' };
  const stacked = { type: 'bar' as const, stack: 'time', silent: true, clip: false, barWidth: 10 };
  return {
    title,
    description: spans.map(({ name, seconds }) => `${name} ${duration(seconds)}`).join(', '),
    width: 320,
    height,
    option: {
      grid: { left: 72, right: 66, top: 2, bottom: 20, outerBoundsMode: 'none' },
      xAxis: {
        type: 'value',
        min: 0,
        max: totalS,
        splitNumber: 2,
        axisLabel: { ...names, formatter: (s: number) => (s === 0 ? '0' : s === totalS ? '' : roundDuration(s)) },
        splitLine: { lineStyle: { color: 'var(--rule)' } },
      },
      yAxis: {
        type: 'category',
        inverse: true,
        data: spans.map(({ name }) => name),
        axisLabel: names,
        axisLine: { show: false },
        axisTick: { show: false },
      },
      series: [
        { ...stacked, itemStyle: { color: 'transparent' }, data: spans.map(({ startS }) => startS) },
        {
          ...stacked,
          itemStyle: { color: 'var(--neutral)' },
          data: spans.map(({ seconds }) => Math.max(seconds, totalS / 150)), // a phase of no length is still seen
          label: {
            ...{ show: true, position: 'right', color: 'var(--ink)', fontSize: 10.5, distance: 4 },
            formatter: ({ dataIndex }: { dataIndex: number }) => duration(spans[dataIndex]!.seconds),
          },
        },
      ],
    },
  };
}

const roundDuration = (seconds: number): string =>
  seconds < 120 ? `${seconds} s` : `${+(seconds / 60).toFixed(1)} min`;
