import type { CustomSeriesOption, CustomSeriesRenderItem, EChartsOption } from 'echarts';
import { iterationAxis, quantityAxis } from './axes';
import type { Chart } from './figure';

export type Point = {
  place: number; // index of the iteration
  value: number;
  low?: number;
  high?: number;
  hollow?: boolean;
};

export type PointSeries = {
  name: string;
  colour: string;
  points: readonly Point[];
  /** Shift along the axis, in iterations, so that intervals do not cover each other. */
  shift?: number;
  line?: boolean;
  labelled?: boolean;
};

export type PointsChart = {
  title: string;
  iterations: readonly number[];
  series: readonly PointSeries[];
  range: readonly [low: number, high: number];
  format: (value: number) => string;
  zeroLine?: boolean;
  width?: number;
  height?: number;
};

/** Points by iteration with their intervals. */
export function pointsChart({ title, iterations, series, range, format, ...own }: PointsChart): Chart {
  const { width = 320, height = 208 } = own;
  return {
    title,
    description: series.map((one) => describe(one, iterations, format)).join('; '),
    width,
    height,
    option: {
      grid: { left: 44, right: 12, top: 14, bottom: 26, outerBoundsMode: 'none' },
      xAxis: iterationAxis(iterations),
      yAxis: quantityAxis(range[0], range[1], format),
      series: [
        ...(own.zeroLine
          ? [
              lineThrough(
                [
                  [-0.5, 0],
                  [iterations.length - 0.5, 0],
                ],
                'var(--muted)',
                'dashed',
              ),
            ]
          : []),
        ...series.flatMap((one) => draw(one, format)),
      ],
    },
  };
}

function describe({ name, points }: PointSeries, iterations: readonly number[], format: (v: number) => string): string {
  const parts = points.map(({ place, value, low, high }) => {
    const bounds = low === undefined || high === undefined ? '' : ` (${format(low)} to ${format(high)})`;
    return `iteration ${iterations[place]}: ${format(value)}${bounds}`;
  });
  return `${name} ${parts.join(', ')}`;
}

type Series = Exclude<EChartsOption['series'], undefined | unknown[]>;

function draw({ colour, points, shift = 0, line, labelled }: PointSeries, format: (v: number) => string): Series[] {
  const places = points.map(({ place, value }) => [place + shift, value] as [number, number]);
  const drawn = points.map((point) => drawPoint(point, shift, { colour, label: labelled ? format(point.value) : '' }));
  return [...(line ? [lineThrough(places, colour, 'solid')] : []), ...drawn];
}

const lineThrough = (data: [number, number][], color: string, type: 'solid' | 'dashed'): Series => ({
  type: 'line',
  data,
  silent: true,
  clip: false,
  showSymbol: false,
  lineStyle: { color, width: 1.5, type, opacity: type === 'solid' ? 0.55 : 1 },
});

/** One series per point: a whisker, a dot that is filled or hollow, and its value. */
function drawPoint(
  point: Point,
  shift: number,
  { colour, label }: { colour: string; label: string },
): CustomSeriesOption {
  const { value, low, high, hollow } = point;
  const x = point.place + shift;
  const renderItem: CustomSeriesRenderItem = (_, api) => {
    const [cx, cy] = api.coord([x, value]) as [number, number];
    const ends = [low, high].map((end) => (end === undefined ? cy : api.coord([x, end])[1]!));
    const [y1, y2] = ends as [number, number];
    const whisker = { shape: { x1: cx, x2: cx, y1, y2 }, style: { stroke: colour, lineWidth: 2, fill: 'none' } };
    const dot = { fill: hollow ? 'var(--card)' : colour, stroke: colour, lineWidth: 2 };
    const text = { x: cx + 8, y: cy, text: label, fill: 'var(--ink)', fontSize: 11, verticalAlign: 'middle' as const };
    return {
      type: 'group',
      children: [
        ...(low === undefined ? [] : [{ type: 'line' as const, ...whisker }]),
        { type: 'circle', shape: { cx, cy, r: 4.5 }, style: dot },
        ...(label ? [{ type: 'text' as const, style: text }] : []),
      ],
    };
  };
  return { type: 'custom', silent: true, clip: false, data: [[x, value]], renderItem };
}
