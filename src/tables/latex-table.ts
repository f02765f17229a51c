import type { Table } from './table';

/** Rows of tables with equal columns as one booktabs table: a rule stands between the tables, and their cells are LaTeX. */
export const latexTable = (tables: readonly [Table, ...Table[]]): string =>
  [
    `\\begin{tabular}{${tables[0].columns.map(({ kind }) => (kind === 'number' ? 'r' : 'l')).join('')}}`,
    '\\toprule',
    rowOf(tables[0].columns.map(({ name }) => name)),
    ...tables.flatMap(({ rows }) => ['\\midrule', ...rows.map((row) => rowOf(row.map(({ text }) => text ?? '--')))]),
    '\\bottomrule',
    '\\end{tabular}',
  ].join('\n');

const rowOf = (cells: readonly string[]): string => `${cells.join(' & ')} \\\\`;

const commands: Record<string, string> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
};

/** Texts of files and servers must not become commands. */
export const escapeLatex = (text: string): string =>
  text
    .replaceAll(/[\\~^<>&%$#_{}]/g, (letter) => commands[letter] ?? `\\${letter}`)
    .replaceAll('−', '--')
    .replaceAll(/\s+/g, ' ');
