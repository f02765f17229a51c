/**
 * Aligns rows of texts in columns, two spaces apart, for output in a font of one width. White space within a text becomes one
 * space.
 *
 * @param toTheRight indices of the columns that are aligned to the right, such as numbers
 */
export function textColumns(rows: readonly (readonly string[])[], toTheRight: readonly number[] = []): string[] {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll(/\s+/g, ' ')));
  const columns = Math.max(0, ...cells.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...cells.map((row) => row[i]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, i) => (toTheRight.includes(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd(),
  );
}
