import { duration } from '../../tables/formats';
import { axisText } from './axes';
import type { Chart } from './figure';

export type Span = { name: string; startS: number; seconds: number };

/** Spans of time, one per row, each at its start and labelled with its duration. */
export function timelineChart(title: string, spans: readonly Span[], totalS: number): Chart {
  const height = 26 + 19 * spans.length;
  const step = steps.find((seconds) => totalS / seconds < 4) ?? steps.at(-1)! * Math.ceil(totalS / steps.at(-1)! / 4);
  const stacked = { type: 'bar' as const, stack: 'time', silent: true, clip: false, barWidth: 10 };
  return {
    title,
    description: spans.map(({ name, seconds }) => `${name} ${duration(seconds)}`).join(', '),
    height,
    option: {
      grid: { left: 72, right: 66, top: 2, bottom: 20, outerBoundsMode: 'none' },
      xAxis: {
        type: 'value',
        min: 0,
        max: totalS,
        interval: step,
        axisLabel: { ...axisText, formatter: (s: number) => (s % step === 0 ? shortDuration(s) : '') },
        splitLine: { lineStyle: { color: 'var(--rule)' } },
      },
      yAxis: {
        type: 'category',
        inverse: true,
        data: spans.map(({ name }) => name),
        axisLabel: axisText,
        axisLine: { show: false },
        axisTick: { show: false },
      },
      series: [
        { ...stacked, itemStyle: { color: 'transparent' }, data: spans.map(({ startS }) => startS) },
        {
          ...stacked,
          itemStyle: { color: 'var(--neutral)' },
          data: spans.map(({ seconds }) => Math.max(seconds, totalS / 150)), // a phase of length 0 stays visible
          label: {
            show: true,
            position: 'right',
            color: 'var(--ink)',
            fontSize: 10.5,
            distance: 4,
            formatter: ({ dataIndex }: { dataIndex: number }) => duration(spans[dataIndex]!.seconds),
          },
        },
      ],
    },
  };
}

/** Distances between grid lines, in seconds. */
const steps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 86_400];

function shortDuration(seconds: number): string {
  if (seconds === 0) return '0';
  if (seconds < 60) return `${seconds} s`;
  return seconds < 7200 ? `${seconds / 60} min` : `${seconds / 3600} h`;
}
