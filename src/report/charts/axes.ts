import type * as echarts from 'echarts';

type XAxis = Exclude<echarts.EChartsOption['xAxis'], undefined | unknown[]>;
type YAxis = Exclude<echarts.EChartsOption['yAxis'], undefined | unknown[]>;

const label = { color: 'var(--muted)', fontSize: 11, fontFamily: 'inherit' };
const rule = { lineStyle: { color: 'var(--rule)', width: 1 } };

/** One place per name, along the bottom. */
export const namesAxis = (names: readonly string[], interval = 0): XAxis => ({
  type: 'category',
  data: [...names],
  axisLabel: { ...label, interval },
  axisLine: rule,
  axisTick: { show: false },
});

/** Iterations along the bottom, with room to set marks beside each other. */
export const iterationAxis = (iterations: readonly number[]): XAxis => ({
  type: 'value',
  min: -0.5,
  max: iterations.length - 0.5,
  interval: 0.5, // ticks fall on the whole numbers and between them; only the former are named
  axisLabel: {
    ...label,
    formatter: (place: number) => (Number.isInteger(place) ? String(iterations[place] ?? '') : ''),
  },
  splitLine: { show: false },
  axisLine: { ...rule, onZero: false },
  axisTick: { show: false },
});

/** Quantities up the side: few lines, no axis. */
export const quantityAxis = (low: number, high: number, format: (value: number) => string): YAxis => ({
  type: 'value',
  min: low,
  max: high,
  splitNumber: 3,
  axisLabel: { ...label, formatter: format },
  axisLine: { show: false },
  axisTick: { show: false },
  splitLine: rule,
});

/** A round number at or above `value`, so that panels that share it have the same few grid lines. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];
  const step = steps.find((candidate) => candidate * magnitude >= value) ?? 10;
  return Math.max(1, Math.ceil(step * magnitude));
}
