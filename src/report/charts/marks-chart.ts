import type { CustomSeriesRenderItem, EChartsOption } from 'echarts';
import { axisText, quantityAxis, type Scale } from './axes';
import type { Chart } from './figure';

export type Position = readonly [x: number, y: number];

/** A mark at coordinates of the axes. */
export type Mark =
  | { kind: 'line'; points: readonly Position[]; colour: string; width?: number; dashed?: boolean; opacity?: number }
  | { kind: 'area'; points: readonly Position[]; colour: string; opacity?: number }
  | { kind: 'dot'; at: Position; colour: string; hollow?: boolean; radius?: number }
  | {
      kind: 'text';
      at: Position;
      text: string;
      side: 'right' | 'left' | 'above' | 'below' | 'centre';
      muted?: boolean;
    };

/** An axis of quantities, or of named slots at 0, 1, 2 and so on. */
export type Axis =
  | { scale: Scale; format: (value: number) => string; name?: string }
  | { slots: readonly string[]; name?: string };

export type MarksChart = {
  title: string;
  description: string;
  x: Axis;
  y: Axis;
  marks: readonly Mark[];
  height?: number;
  /** Space for the labels of the y axis, and for labels of marks on the right side, in px. */
  left?: number;
  right?: number;
};

/** Free marks on two axes: intervals, curves with bands, slots of seeds, cells of a heat map. */
export function marksChart({ title, description, x, y, marks, ...size }: MarksChart): Chart {
  const data: [number, number][] = [[0, 0]]; // one item, which draws all marks
  const renderItem: CustomSeriesRenderItem = (_, api) => ({
    type: 'group',
    children: marks.map((mark) => drawMark(mark, (at) => api.coord([...at]) as [number, number])),
  });
  const { height = 220, left = 46, right = 14 } = size;
  // names side by side would overlap on a phone
  const isTilted = 'slots' in x && x.slots.length > 3 && x.slots.some((name) => name.length > 3);
  return {
    title,
    description,
    height: height + (isTilted ? 26 : 0),
    option: {
      grid: { left, right, top: 14, bottom: isTilted ? 50 : x.name ? 40 : 24, outerBoundsMode: 'none' },
      xAxis: { ...axis(x, isTilted), ...axisName(x, 26) } as EChartsOption['xAxis'],
      yAxis: { ...axis(y), ...('slots' in y ? { inverse: true } : {}) } as EChartsOption['yAxis'],
      series: [{ type: 'custom', silent: true, clip: false, data, renderItem }],
    } as EChartsOption,
  };
}

/** A rectangle between two corners. */
export const box = (
  [x1, y1]: Position,
  [x2, y2]: Position,
  { colour, opacity = 1 }: { colour: string; opacity?: number },
): Mark => ({
  kind: 'area',
  points: [
    [x1, y1],
    [x2, y1],
    [x2, y2],
    [x1, y2],
  ],
  colour,
  opacity,
});

/** A line between two points. */
export const segment = (
  from: Position,
  to: Position,
  style: { colour: string; width?: number; dashed?: boolean },
): Mark => ({ kind: 'line', points: [from, to], ...style });

/** A point of a line with the bounds of its interval, if it has one. */
export type BoundedPoint = { x: number; y: number; low: number | null; high: number | null };

/** A line on the band between its bounds. A point without bounds gives the band no height. */
export function bandedLine(points: readonly BoundedPoint[], colour: string): Mark[] {
  const at = (value: (point: BoundedPoint) => number): Position[] => points.map((point) => [point.x, value(point)]);
  const band = [...at(({ low, y }) => low ?? y), ...at(({ high, y }) => high ?? y).reverse()];
  return [
    { kind: 'area', points: band, colour, opacity: 0.1 },
    { kind: 'line', points: at(({ y }) => y), colour },
  ];
}

const axisName = ({ name }: Axis, nameGap: number) =>
  name ? { name, nameGap, nameLocation: 'middle' as const, nameTextStyle: { ...axisText } } : {};

function axis(own: Axis, isTilted = false) {
  if (!('slots' in own)) return quantityAxis(own.scale, own.format);
  const label = (value: number): string => (Number.isInteger(value) ? (own.slots[value] ?? '') : '');
  return {
    ...quantityAxis({ low: -0.5, high: own.slots.length - 0.5, step: 0.5 }, label),
    axisLabel: { ...axisText, formatter: label, rotate: isTilted ? 35 : 0, interval: 0 },
    splitLine: { show: false },
  };
}

function drawMark(mark: Mark, at: (position: Position) => [number, number]) {
  if (mark.kind === 'text') return drawText(mark, at(mark.at));
  if (mark.kind === 'dot') {
    const [cx, cy] = at(mark.at);
    const fill = mark.hollow ? 'var(--card)' : mark.colour;
    const shape = { cx, cy, r: mark.radius ?? 4 };
    return { type: 'circle' as const, shape, style: { fill, stroke: mark.colour, lineWidth: 1.5 } };
  }
  const points = mark.points.map(at);
  const opacity = mark.opacity ?? 1;
  if (mark.kind === 'area')
    return { type: 'polygon' as const, shape: { points }, style: { fill: mark.colour, opacity, stroke: 'none' } };
  const style = {
    fill: 'none',
    stroke: mark.colour,
    lineWidth: mark.width ?? 2,
    opacity,
    ...(mark.dashed ? { lineDash: [4, 3] } : {}),
  };
  return { type: 'polyline' as const, shape: { points }, style };
}

const sides = {
  right: { dx: 8, dy: 0, align: 'left', verticalAlign: 'middle' },
  left: { dx: -8, dy: 0, align: 'right', verticalAlign: 'middle' },
  above: { dx: 0, dy: -7, align: 'center', verticalAlign: 'bottom' },
  below: { dx: 0, dy: 7, align: 'center', verticalAlign: 'top' },
  centre: { dx: 0, dy: 0, align: 'center', verticalAlign: 'middle' },
} as const;

/** Text with a halo that keeps lines off it. */
function drawText({ text, side, muted }: Extract<Mark, { kind: 'text' }>, [x, y]: [number, number]) {
  const { dx, dy, align, verticalAlign } = sides[side];
  const fill = muted ? 'var(--muted)' : 'var(--ink)';
  const font = { fontSize: axisText.fontSize, fontFamily: axisText.fontFamily };
  const style = { text, fill, stroke: 'var(--card)', lineWidth: 3, ...font, align, verticalAlign };
  return { type: 'text' as const, style: { ...style, x: x + dx, y: y + dy } };
}
