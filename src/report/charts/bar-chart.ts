import { count } from '../quantities';
import { namesAxis, quantityAxis, roundUp } from './axes';
import type { Chart } from './figure';

export type BarChart = {
  title: string;
  names: readonly string[];
  /** Parts of each bar, from the bottom up. */
  parts: readonly { colour: string; values: readonly number[] }[];
  /** Shared by the panels that are compared; by default this panel's own. */
  highest?: number;
  format?: (value: number) => string;
  width?: number;
  height?: number;
  /** Every n-th name is written. */
  nameEvery?: number;
};

/** Bars, of one or more parts, with the total on top. */
export function barChart({ title, names, parts, width = 300, height = 168, nameEvery = 1, ...own }: BarChart): Chart {
  const format = own.format ?? count;
  const totals = names.map((_, i) => parts.reduce((sum, { values }) => sum + (values[i] ?? 0), 0));
  const highest = roundUp((own.highest ?? Math.max(...totals)) * 1.08);
  const fontSize = width < 280 ? 9.5 : 11;
  const label = { show: true, position: 'top' as const, color: 'var(--ink)', fontSize, distance: 3 };
  return {
    title,
    description: names.map((name, i) => `${name}: ${format(totals[i]!)}`).join(', '),
    width,
    height,
    option: {
      grid: { left: 44, right: 8, top: 14, bottom: 24, containLabel: false, outerBoundsMode: 'none' },
      xAxis: namesAxis(names, nameEvery - 1),
      yAxis: quantityAxis(0, highest, format),
      series: [
        ...parts.map(({ colour, values }) => ({
          type: 'bar' as const,
          stack: 'all',
          silent: true,
          clip: false,
          barCategoryGap: names.length > 6 ? '14%' : '46%',
          itemStyle: { color: colour },
          data: [...values],
        })),
        {
          // the total's label sits on an invisible last part of no height
          ...{ type: 'bar' as const, stack: 'all', silent: true, clip: false, data: totals.map(() => 0) },
          itemStyle: { color: 'transparent' },
          label: {
            ...label,
            formatter: ({ dataIndex }: { dataIndex: number }) => shownTotal(totals[dataIndex]!, format),
          },
        },
      ],
    },
  };
}

const shownTotal = (total: number, format: (value: number) => string): string => (total === 0 ? '0' : format(total));
