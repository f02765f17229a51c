import { asCalled } from './called-name';
import { forTerminal, visible, widthOf } from './terminal-text';
import type { Interval } from '../../domain/evaluation/statistics';

/** Prints a result to stdout; messages go to stderr (`printMessage`), so that a pipe gets only results. */
export const print = (text: string): void => void process.stdout.write(`${forTerminal(text)}\n`);

export const printMessage = (text: string): void => void process.stderr.write(`${forTerminal(asCalled(text))}\n`);

/** Prints a result as JSON or as text. */
export const printResult = (json: boolean | undefined, value: unknown, text: () => string): void =>
  json ? void process.stdout.write(`${asJson(value, 2)}\n`) : print(text());

/** Prints a value as one line of JSON. */
export const printJsonLine = (value: unknown): void => void process.stdout.write(`${asJson(value)}\n`);

/** JSON with the escapes that terminals need too: `JSON.stringify` leaves U+009B, which begins a command, as it is. */
const asJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (letter) =>
    Array.from({ length: letter.length }, (_, n) => `\\u${letter.charCodeAt(n).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );

/** Overwrites the last line of a terminal; prints nothing elsewhere. */
export function printOver(line: string, isLast = false): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${forTerminal(line)}${isLast ? '\n' : ''}`);
}

/** Formats rows as columns; numbers are aligned to the right, null is a dash. A line break or a tab is an escape. */
export function table(header: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  const cells = [header, ...rows].map((row) => row.map(cellText));
  const widths = header.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column]!))));
  const numeric = header.map((_, column) => rows.every((row) => typeof row[column] !== 'string'));
  return cells
    .map((row) =>
      row
        .map((cell, column) => {
          const space = ' '.repeat(widths[column]! - widthOf(cell));
          return numeric[column] ? space + cell : cell + space;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const cellText = (cell: string | number | null): string =>
  cell === null
    ? '-'
    : visible(String(cell))
        .replaceAll('\n', String.raw`\n`)
        .replaceAll('\t', String.raw`\t`);

export const shortHash = (hash: string): string => hash.slice(0, 12);

/** Formats integers as they are and other numbers with three decimals. */
export const rounded = (value: unknown): string =>
  typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(3) : String(value);

/** Formats an interval with three decimals. */
export const interval = ({ low, high }: Interval): string => `${low.toFixed(3)} to ${high.toFixed(3)}`;

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

/** Formats a size as `512 B`, `1.5 KiB`, `23.0 MiB` and so on. */
export function bytesText(bytes: number): string {
  const power = Math.min(5, Math.max(0, Math.floor(Math.log2(bytes) / 10)));
  return power === 0 ? `${bytes} B` : `${(bytes / 1024 ** power).toFixed(1)} ${'KMGTP'[power - 1]}iB`;
}
