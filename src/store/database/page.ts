/** The first rows of a list, and the number of all rows that match its filters. */
export type Page<Row> = { rows: Row[]; total: number };

/** Makes a page of rows that carry the number of all matching rows. */
export const pageOf = <Row extends { total: number }>(rows: readonly Row[]): Page<Omit<Row, 'total'>> => ({
  rows: rows.map(({ total: _total, ...row }) => row),
  total: rows[0]?.total ?? 0,
});
