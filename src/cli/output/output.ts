import { asCalled } from './called-name';
import { forTerminal } from '../../tables/terminal-text';

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
