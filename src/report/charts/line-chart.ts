import { axisText, quantityAxis, scaleAround } from './axes';
import type { Chart } from './figure';

export type Line = { name: string; colour: string; points: readonly (readonly [x: number, y: number])[] };

export type LineChart = {
  title: string;
  lines: readonly Line[];
  format: (value: number) => string;
  height?: number;
};

/** Curves over the updates of training jobs. */
export function lineChart({ title, lines, format, height = 164 }: LineChart): Chart {
  const points = lines.flatMap((line) => line.points);
  const scale = scaleAround(points.map(([, y]) => y));
  const maxUpdate = Math.max(1, ...points.map(([x]) => x));
  return {
    title,
    description: lines.map((line) => describe(line, format)).join('; '),
    height,
    option: {
      grid: { left: 48, right: 12, top: 14, bottom: 24, outerBoundsMode: 'none' },
      xAxis: {
        type: 'value',
        min: 0,
        max: maxUpdate,
        interval: maxUpdate,
        splitLine: { show: false },
        axisLabel: { ...axisText, hideOverlap: true },
        axisLine: { lineStyle: { color: 'var(--rule)' }, onZero: false },
        axisTick: { show: false },
      },
      yAxis: quantityAxis(scale, format),
      series: lines.map((line) => ({
        type: 'line' as const,
        silent: true,
        clip: false,
        data: line.points.map(([x, y]) => [x, y]),
        showSymbol: line.points.length === 1,
        lineStyle: { color: line.colour, width: 1.5 },
        itemStyle: { color: line.colour },
      })),
    },
  };
}

function describe({ name, points }: Line, format: (value: number) => string): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return name;
  return `${name} from ${format(first[1])} at update ${first[0]} to ${format(last[1])} at update ${last[0]}`;
}
