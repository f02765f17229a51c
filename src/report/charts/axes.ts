import type * as echarts from 'echarts';

type XAxis = Exclude<echarts.EChartsOption['xAxis'], undefined | unknown[]>;
type YAxis = Exclude<echarts.EChartsOption['yAxis'], undefined | unknown[]>;

export const axisText = { color: 'var(--muted)', fontSize: 11, fontFamily: 'inherit' };
const rule = { lineStyle: { color: 'var(--rule)', width: 1 } };

/** X axis with one slot per name. */
export const namesAxis = (names: readonly string[], everyNth = 1): XAxis => ({
  type: 'category',
  data: [...names],
  axisLabel: { ...axisText, interval: everyNth - 1 },
  axisLine: rule,
  axisTick: { show: false },
});

/** A range of at most five steps, whose ends are multiples of the step. */
export type Scale = { low: number; high: number; step: number };

/** Y axis with grid lines and without an axis line. */
export const quantityAxis = ({ low, high, step }: Scale, format: (value: number) => string): YAxis => ({
  type: 'value',
  min: low,
  max: high,
  interval: step,
  axisLabel: { ...axisText, formatter: format },
  axisLine: { show: false },
  axisTick: { show: false },
  splitLine: rule,
});

/** Returns the finest scale with round steps that contains all `values`. */
export function scaleAround(values: readonly number[]): Scale {
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const finest = 10 ** Math.floor(Math.log10(Math.max((highest - lowest) / 5, 1e-9)));
  const fits = (step: number): Scale | undefined => {
    const [from, to] = [Math.floor(lowest / step + 1e-9), Math.ceil(highest / step - 1e-9)];
    return to - from <= 5 ? { low: rounded(from * step), high: rounded(to * step), step: rounded(step) } : undefined;
  };
  const scales = [1, 2, 2.5, 5, 10, 20].map((factor) => fits(factor * finest));
  return scales.find((scale) => scale !== undefined && scale.high > scale.low) ?? { low: 0, high: 1, step: 0.25 };
}

/** Returns a scale of counts from 0, with space above the highest bar for its label. */
export function countScale(highest: number): Scale {
  const { high, step } = scaleAround([0, Math.max(highest * 1.1, 4)]);
  return { low: 0, high, step: Math.max(1, step) };
}

const rounded = (value: number): number => Number(value.toPrecision(10));
