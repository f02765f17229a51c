import { type Content, html, type Html } from './html';
import { count } from './format';

export type Table = {
  caption: string;
  /** Column headings; the first `textColumns` columns are text, the others numbers. */
  head: readonly string[];
  textColumns?: number;
  rows: readonly (readonly Content[])[];
};

/** A longer table is collapsed below its caption. */
const maxOpenRows = 8;

/** Table that scrolls horizontally when the page is narrow. */
export function table({ caption, head, textColumns = 1, rows }: Table): Html {
  const kind = (column: number): string => (column < textColumns ? 'text' : 'number');
  const cell = (content: Content, column: number): Html =>
    column === 0
      ? html`<th scope="row" class="text">${content}</th>`
      : html`<td class="${kind(column)}">${content}</td>`;
  const shown = html`<div class="scroll">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${head.map((name, column) => html`<th scope="col" class="${kind(column)}">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map(cell)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
  if (rows.length <= maxOpenRows) return shown;
  return html`<details>
    <summary>${caption} (${count(rows.length)} rows)</summary>
    ${shown}
  </details>`;
}
