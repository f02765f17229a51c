import { note } from '../../report/page/blocks';
import { html, type Content } from '../../tables/html';
import { htmlTable } from '../../tables/html-table';
import type { Table } from '../../tables/table';
import type { Found } from './ask-api';

/** `none`: note in place of an empty table. `older`: link to the next page. */
type Shown = { table: Table; none: string; older: { title: string; hrefOf: (cursor: string) => string } };

/** The table of a page of a list above the link to the next page, which the key `n` follows. */
export const pageOfRows = ({ rows, next }: Found<unknown>, { table, none, older }: Shown): Content => [
  rows.length === 0 ? note(none) : htmlTable(table, true),
  next === null ? null : html`<p><a rel="next" accesskey="n" href="${older.hrefOf(next)}">${older.title}</a></p>`,
];
