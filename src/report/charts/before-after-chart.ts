import type { CustomSeriesRenderItem } from 'echarts';
import { interval, rate } from '../../tables/formats';
import { axisText } from './axes';
import type { Chart } from './figure';

export type RateWithInterval = { name: string; colour: string; value: number; low: number; high: number };

/** Rates with their intervals, one per row, on the scale [0, 1]. */
export function beforeAfterChart(title: string, rates: readonly RateWithInterval[]): Chart {
  return {
    title,
    description: rates
      .map(({ name, value, low, high }) => `${name} ${rate(value)} (${interval(low, high)})`)
      .join('; '),
    height: 34 + 30 * rates.length,
    option: {
      grid: { left: 100, right: 14, top: 4, bottom: 22, outerBoundsMode: 'none' },
      xAxis: {
        type: 'value',
        min: 0,
        max: 1,
        interval: 0.25,
        axisLine: { show: false },
        axisLabel: { ...axisText, formatter: (value: number) => String(value) },
        splitLine: { lineStyle: { color: 'var(--rule)' } },
      },
      yAxis: {
        type: 'category',
        inverse: true,
        data: rates.map(({ name }) => name),
        axisTick: { show: false },
        axisLabel: { ...axisText, color: 'var(--ink)' },
        axisLine: { show: false },
      },
      series: rates.map((entry, row) => ({
        type: 'custom' as const,
        silent: true,
        clip: false,
        data: [[entry.value, row]],
        renderItem: drawRate(entry, row),
      })),
    },
  };
}

const drawRate =
  ({ colour, value, low, high }: RateWithInterval, row: number): CustomSeriesRenderItem =>
  (_, api) => {
    const [cx, cy] = api.coord([value, row]) as [number, number];
    const [x1, x2] = [api.coord([low, row])[0]!, api.coord([high, row])[0]!];
    const bar = { x: x1, y: cy - 4, width: x2 - x1, height: 8, r: 4 };
    return {
      type: 'group',
      children: [
        { type: 'rect', shape: bar, style: { fill: colour, fillOpacity: 0.3, stroke: colour, lineWidth: 1 } },
        { type: 'circle', shape: { cx, cy, r: 5 }, style: { fill: colour } },
      ],
    };
  };
