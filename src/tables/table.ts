import { rounded } from '../domain/formats';

/** A value of a cell. Several texts are lines of one cell; null is a missing value. */
export type Value = string | number | null | readonly string[];

/** Numbers are aligned to the right. Pages show codes in the font of hashes and keys, and badges with the colour of their word. */
export type ColumnKind = 'text' | 'number' | 'code' | 'badge';

export type Heading = {
  name: string;
  kind: ColumnKind;
  /** Tells what the numbers are and how they were computed; pages show it where the pointer rests on the name. */
  explanation?: string | undefined;
};

export type Column<Row> = Omit<Heading, 'kind'> & {
  /** By default a number if no value of the column is a text. */
  kind?: ColumnKind;
  value: (row: Row) => Value;
  /** Formats the values that are numbers. */
  format?: (value: number) => string;
  /** Address that a page links from the value; null: no link. */
  href?: (row: Row) => string | null;
};

/** `text` is the formatted value, and null if the value is missing. */
export type Cell = { value: Value; text: string | null; href?: string | null };

export type Table = { caption: string; columns: readonly Heading[]; rows: readonly (readonly Cell[])[] };

/** Makes a table of a list: a row for each of its elements. The writers beside this file render it. */
export function table<Row>(caption: string, rows: readonly Row[], columns: readonly Column<Row>[]): Table {
  const values = columns.map(({ value, format, href }) =>
    rows.map((row) => ({ ...cellOf(value(row), format), ...(href && { href: href(row) }) })),
  );
  return {
    caption,
    columns: columns.map(({ kind, name, explanation }, i) => ({ name, explanation, kind: kind ?? kindOf(values[i]!) })),
    rows: rows.map((_, row) => values.map((column) => column[row]!)),
  };
}

const kindOf = (cells: readonly Cell[]): ColumnKind =>
  cells.every(({ value }) => value === null || typeof value === 'number') ? 'number' : 'text';

function cellOf(value: Value, format: (value: number) => string = String): Cell {
  if (value === null) return { value, text: null };
  if (typeof value === 'number') return { value, text: format(value) };
  return { value, text: typeof value === 'string' ? value : value.join('; ') };
}

type ValueOf<Row> = (row: Row) => Value;

/** A column of texts, and of numbers that are names, such as iterations and seeds. */
export const text = <Row>(name: string, value: ValueOf<Row>): Column<Row> => ({ name, kind: 'text', value });

export const code = <Row>(name: string, value: ValueOf<Row>): Column<Row> => ({ name, kind: 'code', value });

export const badge = <Row>(name: string, value: ValueOf<Row>): Column<Row> => ({ name, kind: 'badge', value });

/** A column whose values a page links. */
export const linked = <Row>(column: Column<Row>, href: (row: Row) => string | null): Column<Row> => ({
  ...column,
  href,
});

/** A column of numbers, or of texts that are made of numbers, such as intervals. */
export const number = <Row>(
  name: string,
  value: (row: Row) => number | string | null | undefined,
  format: (value: number) => string = rounded,
): Column<Row> => ({ name, kind: 'number', value: (row) => value(row) ?? null, format });

/** Columns of properties as they are, named by their keys: `modelCalls` becomes `model calls`. */
export const properties = <Key extends string>(
  ...keys: readonly Key[]
): Column<Record<Key, string | number | null | undefined>>[] =>
  keys.map((key) => ({
    name: key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    value: (row) => row[key] ?? null,
    format: rounded,
  }));
