import { scaleAround } from './axes';
import type { Chart } from './figure';
import { type Mark, marksChart, type Position } from './marks-chart';

export type Line = { name: string; colour: string; points: readonly Position[] };

export type LineChart = { title: string; lines: readonly Line[]; format: (value: number) => string };

/** Curves over the updates of training jobs. A curve of one update is a dot. */
export function lineChart({ title, lines, format }: LineChart): Chart {
  const points = lines.flatMap((line) => line.points);
  const maxUpdate = Math.max(1, ...points.map(([x]) => x));
  return marksChart({
    title,
    description: lines.map((line) => lineInWords(line, format)).join('; '),
    height: 164,
    left: 48,
    x: { scale: { low: 0, high: maxUpdate, step: maxUpdate }, format: String, name: 'update' },
    y: { scale: scaleAround(points.map(([, y]) => y)), format },
    marks: lines.map((line): Mark => {
      const [first, ...others] = line.points;
      return first && others.length === 0
        ? { kind: 'dot', at: first, colour: line.colour }
        : { kind: 'line', points: line.points, colour: line.colour, width: 1.5 };
    }),
  });
}

function lineInWords({ name, points }: Line, format: (value: number) => string): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return name;
  return `${name} from ${format(first[1])} at update ${first[0]} to ${format(last[1])} at update ${last[0]}`;
}
