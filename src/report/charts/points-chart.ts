import { interval } from '../../domain/formats';
import type { Scale } from './axes';
import type { Chart } from './figure';
import { type Mark, marksChart, segment } from './marks-chart';

export type Point = {
  index: number; // of the iteration
  value: number;
  low?: number;
  high?: number;
  hollow?: boolean;
  /** Puts the label below the point, because another point is above it. */
  below?: boolean;
};

export type PointSeries = {
  name: string;
  colour: string;
  points: readonly Point[];
  /** Shift along the x axis in iterations, so that intervals do not overlap. */
  shift?: number;
  line?: boolean;
  labelled?: boolean;
};

export type PointsChart = {
  title: string;
  iterations: readonly number[];
  series: readonly PointSeries[];
  scale: Scale;
  format: (value: number) => string;
  /** Labels of the y axis; default: with the digits of its step. */
  axisFormat?: (value: number) => string;
  zeroLine?: boolean;
  height?: number;
};

/** Points with intervals, by iteration. */
export function pointsChart({ title, iterations, series, scale, format, axisFormat, ...own }: PointsChart): Chart {
  const zero = segment([-0.5, 0], [iterations.length - 0.5, 0], { colour: 'var(--muted)', width: 1.5, dashed: true });
  return marksChart({
    title,
    description: series.map((points) => seriesInWords(points, iterations, format)).join('; '),
    height: own.height ?? 190,
    left: 42,
    right: 34,
    x: { slots: iterations.map(String) },
    y: { scale, format: axisFormat ?? ((value) => value.toFixed(digitsOf(scale.step))) },
    marks: [...(own.zeroLine ? [zero] : []), ...series.flatMap((points) => draw(points, format))],
  });
}

const digitsOf = (step: number): number => (String(step).split('.')[1] ?? '').length;

function seriesInWords(
  { name, points }: PointSeries,
  iterations: readonly number[],
  format: (v: number) => string,
): string {
  const parts = points.map(({ index, value, low, high }) => {
    const bounds = low === undefined ? '' : ` (${interval(low, high, format)})`;
    return `iteration ${iterations[index]}: ${format(value)}${bounds}`;
  });
  return `${name} ${parts.join(', ')}`;
}

/** A series with more points has a label on its last point only. */
const maxLabels = 7;

/** Draws the line of a series, and each point with its interval and its label, which keeps off the interval. */
function draw({ colour, points, shift = 0, line, labelled }: PointSeries, format: (v: number) => string): Mark[] {
  const isNamed = (i: number): boolean => labelled === true && (points.length <= maxLabels || i === points.length - 1);
  const drawn = points.flatMap(({ index, value, low, high, hollow, below }, i): Mark[] => {
    const at = [index + shift, value] as const;
    const side = low !== undefined ? 'right' : below ? 'below' : 'above';
    return [
      ...(low === undefined ? [] : [segment([at[0], low], [at[0], high ?? value], { colour })]),
      { kind: 'dot', at, colour, hollow: hollow ?? false, radius: 4.5 },
      ...(isNamed(i) ? [{ kind: 'text', at, text: format(value), side } as const] : []),
    ];
  });
  const through = points.map(({ index, value }) => [index + shift, value] as const);
  return [...(line ? [{ kind: 'line', points: through, colour, width: 1.5 } as const] : []), ...drawn];
}
