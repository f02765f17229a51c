import { count, nothing } from '../domain/formats';
import { html, type Html } from './html';
import type { Cell, ColumnKind, Heading, Table } from './table';

/** A longer table is collapsed below its caption. */
const maxOpenRows = 8;

/** Writes a table as HTML. It scrolls horizontally when the page is narrow, also by keys. `isOpen`: never collapsed. */
export function htmlTable({ caption, columns, rows }: Table, isOpen = rows.length <= maxOpenRows): Html {
  const shown = html`<div class="scroll" role="group" aria-label="${caption}" tabindex="0">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(headingOf)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, i) => cellOf(cell, columns[i]!.kind, i === 0))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
  if (isOpen) return shown;
  return html`<details>
    <summary>${caption} (${count(rows.length)} rows)</summary>
    ${shown}
  </details>`;
}

const alignment = (kind: ColumnKind, isFirst: boolean): string => (kind === 'number' && !isFirst ? 'number' : 'text');

const headingOf = ({ name, kind, explanation }: Heading, i: number): Html =>
  explanation === undefined
    ? html`<th scope="col" class="${alignment(kind, i === 0)}">${name}</th>`
    : html`<th scope="col" class="${alignment(kind, i === 0)}" title="${explanation}">${name}</th>`;

const cellOf = (cell: Cell, kind: ColumnKind, isFirst: boolean): Html =>
  isFirst
    ? html`<th scope="row" class="text">${contentOf(cell, kind)}</th>`
    : html`<td class="${alignment(kind, false)}">${contentOf(cell, kind)}</td>`;

function contentOf({ href, ...cell }: Cell, kind: ColumnKind): Html {
  const content = valueOf(cell, kind);
  return href ? html`<a href="${href}">${content}</a>` : content;
}

function valueOf({ value, text }: Cell, kind: ColumnKind): Html {
  if (value === null || text === null) return html`${nothing}`;
  if (typeof value === 'object')
    return html`${value.map((line) => html`<span class="line">${decorated(line, kind)}</span>`)}`;
  return decorated(text, kind);
}

function decorated(text: string, kind: ColumnKind): Html {
  if (kind === 'code') return html`<code>${text}</code>`;
  return kind === 'badge' ? html`<span class="badge ${text}">${text}</span>` : html`${text}`;
}
