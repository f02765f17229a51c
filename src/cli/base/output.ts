import { asCalled } from './called-name';

/** Prints a result to stdout; messages go to stderr (`printMessage`), so that a pipe gets only results. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`);

export const printMessage = (text: string): void => void process.stderr.write(`${asCalled(text)}\n`);

/** Prints a result as JSON or as text. */
export const printResult = (json: boolean | undefined, value: unknown, text: () => string): void =>
  print(json ? JSON.stringify(value, null, 2) : text());

/** Formats rows as columns; numbers are aligned to the right, null is a dash. */
export function table(header: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => (cell === null ? '-' : String(cell))));
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const numeric = header.map((_, column) => rows.every((row) => typeof row[column] !== 'string'));
  return cells
    .map((row) =>
      row
        .map((cell, column) => (numeric[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const shortHash = (hash: string): string => hash.slice(0, 12);

/** Formats integers as they are and other numbers with three decimals. */
export const rounded = (value: unknown): string =>
  typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(3) : String(value);

/** Formats a p value; values below 0.001 are printed as a bound, not as 0. */
export const probability = (p: number): string => (p < 0.001 ? '< 0.001' : `= ${p.toFixed(3)}`);

/** Formats seconds as `9.5 s`, `42 s`, `1 min 5 s` or `2 h 1 min`. */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const total = Math.round(seconds);
  if (total < 60) return `${total} s`;
  const minutes = Math.floor(total / 60);
  return minutes < 60 ? `${minutes} min ${total % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
