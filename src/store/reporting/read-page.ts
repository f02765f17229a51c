import type { Pool } from 'pg';
import { codeOf } from '../../errors/errors';
import { DomainError } from '../../domain/errors';
import { raw, sql, type Statement } from '../database/sql';

export type PageQuery = {
  /** Name of a view of the schema `reporting`. */
  view: string;
  columns: readonly string[];
  /** Columns that identify a row and order the rows. None is null. */
  key: readonly string[];
  /** An expression over `t` by which the rows are ordered before their key. It is never null. */
  sortBy?: string | undefined;
  /** All of them hold for each row; the view is called `t`. */
  conditions: readonly Statement[];
  descending: boolean;
  /** Max count of rows. */
  limit: number;
  /** Of the page before; undefined for the first page. */
  cursor?: string | undefined;
};

/** `next`: the cursor of the next page; null after the last row. */
export type KeyedPage = { rows: Record<string, unknown>[]; next: string | null };

/**
 * Reads the rows after a cursor in the order of their keys. A row that exists while all pages are read is read once, whatever
 * is inserted meanwhile. Every page costs the same.
 *
 * @throws DomainError `InvalidCursor`
 */
export async function readPage(pool: Pool, query: PageQuery): Promise<KeyedPage> {
  const { view, columns, conditions, descending, limit, cursor } = query;
  const terms = orderedBy(query);
  const order = terms.map((term) => `${term} ${descending ? 'desc' : 'asc'}`).join(', ');
  const after = cursor === undefined ? [] : [afterCursor(query, cursor)];
  const statement = sql`
    select ${raw(columns.map((column) => `t.${column}`).join(', '))}, jsonb_build_array(${raw(terms.join(', '))})::text as next_key
    from reporting.${raw(view)} t
    where ${allOf([...conditions, ...after])}
    order by ${raw(order)}
    limit ${limit + 1}::integer`;
  const { rows } = await pool.query<{ next_key: string }>(statement).catch(throwInvalidCursor(cursor));
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return {
    rows: page.map(({ next_key: _key, ...row }) => row),
    next: last ? cursorOf(last.next_key) : null,
  };
}

const orderedBy = ({ key, sortBy }: Pick<PageQuery, 'key' | 'sortBy'>): string[] => [
  ...(sortBy === undefined ? [] : [sortBy]),
  ...key.map((column) => `t.${column}`),
];

const allOf = (conditions: readonly Statement[]): Statement =>
  conditions.reduce((all, one) => sql`${all} and ${one}`, sql`true`);

/** Counts the rows of all pages, up to `max`. */
export async function countRows(
  pool: Pool,
  { view, conditions }: Pick<PageQuery, 'view' | 'conditions'>,
  max: number,
): Promise<{ count: number; is_exact: boolean }> {
  const { rows } = await pool.query<{ count: number }>(sql`
    select count(*)::integer as count from (
      select from reporting.${raw(view)} t where ${allOf(conditions)} limit ${max + 1}::integer) counted`);
  const { count } = rows[0]!;
  return { count: Math.min(count, max), is_exact: count <= max };
}

/** Throws `InvalidCursor` where a value of the cursor is not of the type of its column. */
export const throwInvalidCursor =
  (cursor: string | undefined) =>
  (error: unknown): never => {
    throw cursor !== undefined && invalidValues.has(codeOf(error) ?? '') ? invalidCursor() : error;
  };

/** SQLSTATE of a text that is not of the type of its column. */
const invalidValues = new Set(['22P02', '22003', '22007', '22008']);

/** @param key JSON array of the values of a row's key */
export const cursorOf = (key: string): string => Buffer.from(key).toString('base64url');

/**
 * Returns the condition for the rows `t` after a cursor.
 *
 * @throws DomainError `InvalidCursor`
 */
export function afterCursor(
  { descending, ...order }: Pick<PageQuery, 'key' | 'sortBy' | 'descending'>,
  cursor: string,
): Statement {
  const values = valuesOf(cursor);
  const terms = orderedBy(order);
  if (values?.length !== terms.length) throw invalidCursor();
  const bounds = values.map((value) => sql`${value}`).reduce((all, one) => sql`${all}, ${one}`);
  // Each value has the type of the column that it is compared with.
  return sql`(${raw(terms.join(', '))}) ${raw(descending ? '<' : '>')} (${bounds})`;
}

function valuesOf(cursor: string): string[] | null {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(values) && values.every((value) => typeof value === 'string' || typeof value === 'number')
      ? values.map(String)
      : null;
  } catch {
    return null;
  }
}

const invalidCursor = (): DomainError =>
  new DomainError('InvalidCursor', 'cursor: found another text, expected `next` of the page before');
