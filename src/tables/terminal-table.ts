import { type Column, table, type Table } from './table';
import { visible, widthOf } from './terminal-text';

/** Writes a list as columns for a terminal: a row for each of its elements. */
export const terminalTable = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string =>
  writeTerminal(table('', rows, columns));

/** Writes a table for a terminal, without its caption. A missing value is a dash; a line break or a tab is an escape. */
export function writeTerminal({ columns, rows }: Table): string {
  const cells = [columns.map(({ name }) => name), ...rows.map((row) => row.map(({ text }) => text ?? '-'))];
  const lines = cells.map((row) => row.map(oneLine));
  const widths = columns.map((_, column) => Math.max(...lines.map((row) => widthOf(row[column]!))));
  return lines.map((row) => row.map(padded).join('  ').trimEnd()).join('\n');

  function padded(cell: string, column: number): string {
    const space = ' '.repeat(widths[column]! - widthOf(cell));
    return columns[column]!.kind === 'number' ? space + cell : cell + space;
  }
}

const oneLine = (text: string): string =>
  visible(text)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\t', String.raw`\t`);
