import type { Command } from 'commander';
import type { Page } from '../../store/database/page';
import { count } from '../../domain/formats';
import type { Column } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';
import { integerIn } from '../arguments/integer';
import { print, printJsonLine, printMessage } from './output';

export type ListOptions = { limit?: number; json?: boolean };

/** Rows of a table without `--limit`. */
const tableRows = 50;

/** Adds `--limit` and `--json` to a command that lists rows. */
export const addListOptions = (command: Command, rows: string): Command =>
  command
    .option('--limit <count>', `rows to print (default: ${tableRows}; with --json all)`, integerIn(1, 10_000_000))
    .option('--json', `print ${rows}`);

/** Returns the number of rows to print; null for all. */
export const limitOf = ({ limit, json }: ListOptions): number | null => limit ?? (json ? null : tableRows);

/** Returns the rows that `--limit` allows of a whole list. */
export function firstRows<Row>(rows: readonly Row[], options: ListOptions): Page<Row> {
  return { rows: rows.slice(0, limitOf(options) ?? undefined), total: rows.length };
}

/** Prints rows as a table, or as one line of JSON each, and how many more match the filters. */
export function printPage<Row>(page: Page<Row>, what: string, columns: readonly Column<Row>[], json?: boolean): void {
  if (json) page.rows.forEach(printJsonLine);
  else if (page.rows.length > 0) print(terminalTable(page.rows, columns));
  printMore(page, what);
}

/** Prints on stderr the number of rows that are left out. */
export function printMore({ rows, total }: Page<unknown>, what: string): void {
  if (total === 0) printMessage(`no ${what} match`);
  else if (rows.length < total)
    printMessage(`${count(rows.length)} of ${count(total)} ${what}; \`--limit ${total}\` prints all`);
}
