import type { CustomSeriesOption, CustomSeriesRenderItem, EChartsOption } from 'echarts';
import { axisText, iterationAxis, quantityAxis, type Scale } from './axes';
import type { Chart } from './figure';

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
  axisFormat: (value: number) => string;
  zeroLine?: boolean;
  height?: number;
};

/** Points with intervals, by iteration. */
export function pointsChart({ title, iterations, series, scale, format, axisFormat, ...own }: PointsChart): Chart {
  return {
    title,
    description: series.map((points) => describe(points, iterations, format)).join('; '),
    height: own.height ?? 190,
    option: {
      grid: { left: 42, right: 34, top: 14, bottom: 24, outerBoundsMode: 'none' },
      xAxis: iterationAxis(iterations),
      yAxis: quantityAxis(scale, axisFormat),
      series: [
        ...(own.zeroLine ? [zeroLine(iterations.length)] : []),
        ...series.flatMap((points) => draw(points, format)),
      ],
    },
  };
}

function describe({ name, points }: PointSeries, iterations: readonly number[], format: (v: number) => string): string {
  const parts = points.map(({ index, value, low, high }) => {
    const bounds = low === undefined || high === undefined ? '' : ` (${format(low)} to ${format(high)})`;
    return `iteration ${iterations[index]}: ${format(value)}${bounds}`;
  });
  return `${name} ${parts.join(', ')}`;
}

type Series = Exclude<EChartsOption['series'], undefined | unknown[]>;

/** A series with more points has a label on its last point only. */
const maxLabels = 7;

function draw({ colour, points, shift = 0, line, labelled }: PointSeries, format: (v: number) => string): Series[] {
  const xy = points.map(({ index, value }) => [index + shift, value] as [number, number]);
  const isNamed = (i: number): boolean => labelled === true && (points.length <= maxLabels || i === points.length - 1);
  const drawn = points.map((point, i) =>
    drawPoint(point, shift, { colour, label: isNamed(i) ? format(point.value) : '' }),
  );
  return [...(line ? [lineThrough(xy, colour, 'solid')] : []), ...drawn];
}

const zeroLine = (iterationCount: number): Series =>
  lineThrough(
    [
      [-0.5, 0],
      [iterationCount - 0.5, 0],
    ],
    'var(--muted)',
    'dashed',
  );

const lineThrough = (data: [number, number][], color: string, type: 'solid' | 'dashed'): Series => ({
  type: 'line',
  data,
  silent: true,
  clip: false,
  showSymbol: false,
  lineStyle: { color, width: 1.5, type },
});

/** Draws a point as a separate series: its interval, a filled or hollow dot, and its label. */
function drawPoint(
  point: Point,
  shift: number,
  { colour, label }: { colour: string; label: string },
): CustomSeriesOption {
  const { value, low, high, hollow, below } = point;
  const x = point.index + shift;
  const renderItem: CustomSeriesRenderItem = (_, api) => {
    const [cx, cy] = api.coord([x, value]) as [number, number];
    const ends = [low, high].map((end) => (end === undefined ? cy : api.coord([x, end])[1]!));
    const [y1, y2] = ends as [number, number];
    const whisker = { shape: { x1: cx, x2: cx, y1, y2 }, style: { stroke: colour, lineWidth: 2, fill: 'none' } };
    const dot = { fill: hollow ? 'var(--card)' : colour, stroke: colour, lineWidth: 2 };
    // beside the interval, or above a point without one, with a halo that keeps lines off the text
    const beside = low !== undefined;
    const text = {
      text: label,
      fill: 'var(--ink)',
      stroke: 'var(--card)',
      lineWidth: 3,
      fontSize: axisText.fontSize,
      fontFamily: axisText.fontFamily,
      ...(beside
        ? { x: cx + 8, y: cy, verticalAlign: 'middle' as const }
        : {
            x: cx,
            y: cy + (below ? 8 : -7),
            align: 'center' as const,
            verticalAlign: below ? ('top' as const) : ('bottom' as const),
          }),
    };
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
