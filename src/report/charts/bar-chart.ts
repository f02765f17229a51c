import { count } from '../../domain/formats';
import { countScale, namesAxis, quantityAxis } from './axes';
import type { Chart } from './figure';

export type BarChart = {
  title: string;
  names: readonly string[];
  /** Stacked parts of each bar, from the bottom up. */
  parts: readonly { colour: string; values: readonly number[] }[];
  /** Maximum of the scale, shared by panels that are compared; by default the maximum of this panel. */
  highest?: number;
  format?: (value: number) => string;
  height?: number;
  /** Labels every n-th name. */
  nameEvery?: number;
};

/** Stacked bars with their totals on top. */
export function barChart({ title, names, parts, height = 164, nameEvery, format = count, ...own }: BarChart): Chart {
  const totals = names.map((_, i) => parts.reduce((sum, { values }) => sum + (values[i] ?? 0), 0));
  const many = names.length > 7;
  const label = { show: true, position: 'top' as const, color: 'var(--ink)', fontSize: many ? 9 : 11, distance: 3 };
  const bar = { type: 'bar' as const, stack: 'all', silent: true, clip: false, barCategoryGap: many ? '14%' : '46%' };
  return {
    title,
    description: names.map((name, i) => `${name}: ${format(totals[i]!)}`).join(', '),
    height,
    option: {
      grid: { left: 42, right: 6, top: 14, bottom: 24, outerBoundsMode: 'none' },
      xAxis: namesAxis(names, nameEvery),
      yAxis: quantityAxis(countScale(own.highest ?? Math.max(...totals)), format),
      series: [
        ...parts.map(({ colour, values }) => ({ ...bar, itemStyle: { color: colour }, data: [...values] })),
        {
          ...bar, // an invisible part of height 0 carries the label of the total
          itemStyle: { color: 'transparent' },
          data: totals.map(() => 0),
          label: { ...label, formatter: ({ dataIndex }: { dataIndex: number }) => format(totals[dataIndex]!) },
        },
      ],
    },
  };
}
