import { nothing } from '../domain/formats';
import type { Table } from './table';

/** Writes a table as Markdown. All columns but the first are aligned to the right. */
export const markdownTable = ({ columns, rows }: Table): string =>
  [
    columns.map(({ name }) => name),
    columns.map((_, i) => (i === 0 ? '---' : '---:')),
    ...rows.map((row) => row.map(({ text }) => escapeMarkdown(text ?? nothing))),
  ]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');

/** Texts of files and servers must not become markup. */
export const escapeMarkdown = (text: string): string =>
  text
    .replaceAll(/[\\`*_[\]|#]/g, '\\$&')
    .replaceAll('<', '&lt;')
    .replaceAll(/[\r\n]+/g, ' ');
