import type { Table, Value } from './table';

/** Writes a table as CSV by RFC 4180. Numbers have every digit, so that whatever was computed from them can be computed again. */
export const csvTable = ({ columns, rows }: Pick<Table, 'columns' | 'rows'>): string =>
  [columns.map(({ name }) => name), ...rows.map((row) => row.map(({ value }) => value))]
    .map((row) => `${row.map(field).join(',')}\r\n`)
    .join('');

/** A text that a spreadsheet would run as a formula gets an apostrophe, as OWASP recommends; full-width signs are signs. */
function field(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const content = typeof value === 'string' ? value : value.join('; ');
  const text = /^[=+\-@\t\r\n＝＋－＠]/.test(content) ? `'${content}` : content;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
