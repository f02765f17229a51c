import type { DescribedColumn, DescribedView } from './describe-views';

/** First view of each page of the docs; a page lists the views up to the next page's first one. */
const firstViews = { 'docs/reporting.md': 'campaigns', 'docs/reporting-training.md': 'policies' } as const;

export const viewPages = Object.keys(firstViews) as (keyof typeof firstViews)[];

/** Returns the page with its introduction as it is and its sections made of the views. */
export function withViews(page: (typeof viewPages)[number], text: string, views: readonly DescribedView[]): string {
  const starts = [...viewPages.map((name) => views.findIndex((view) => view.name === firstViews[name])), views.length];
  const position = viewPages.indexOf(page);
  const [introduction = ''] = text.split('\n## ');
  const sections = views.slice(starts[position], starts[position + 1]).map(sectionOf);
  return `${[introduction.trimEnd(), ...sections].join('\n\n')}\n`;
}

const sectionOf = ({ name, comment, columns }: DescribedView): string =>
  [`## ${name}`, '', comment, '', ...tableOf(columns)].join('\n');

/** Returns the rows of a Markdown table with padded cells, as the formatter writes them. */
function tableOf(columns: readonly DescribedColumn[]): string[] {
  const rows = [
    ['column', 'type', 'content'],
    ...columns.map(({ name, type, comment }) => [`\`${name}\``, shortType(type), comment]),
  ];
  const widths = [0, 1, 2].map((i) => Math.max(...rows.map((row) => row[i]!.length)));
  const [head, ...lines] = rows.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`);
  return [head!, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...lines];
}

const shortType = (type: string): string => type.replace('timestamp with time zone', 'timestamptz');
