import { randomBytes } from 'node:crypto';
import pc from 'picocolors';

/** Begins our own escape sequences while a text is composed: random, so that no other text can contain it. */
const ownEscape = `\u001b${randomBytes(8).toString('hex')}`;
const ownSequence = new RegExp(`${ownEscape}\\[\\d+m`, 'g');

/**
 * Returns text with its control characters as visible escapes, such as `\x1b`: text of models, environments and specs
 * must not move the cursor, hide or reorder what is printed, or send commands to the terminal. Colours of `paint` stay.
 */
export const visible = (text: string): string => text.split(ownEscape).map(escapeControls).join(ownEscape);

/** Colours for our own words. They take effect in `forTerminal`. */
export const paint = {
  bold: painter(pc.bold),
  dim: painter(pc.dim),
  green: painter(pc.green),
  red: painter(pc.red),
  yellow: painter(pc.yellow),
};

/** Returns the text to write to a terminal: `visible`, with the colours of `paint`. */
export const forTerminal = (text: string): string => visible(text).replaceAll(ownEscape, '\u001b');

/** Returns the number of characters that a terminal shows. */
export const widthOf = (text: string): number => text.replaceAll(ownSequence, '').length;

function painter(color: (text: string) => string): (text: string) => string {
  const [open = '', close = ''] = color('|')
    .split('|')
    .map((sequence) => sequence.replaceAll('\u001b', ownEscape));
  return (text) => `${open}${text}${close}`;
}

/** Line breaks and tabs stay, and the joiners of emojis and of Persian (U+200C, U+200D). */
const escapeControls = (text: string): string =>
  text.replaceAll(/(?![\n\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (letter) => {
    const code = letter.codePointAt(0)!;
    if (letter === '\r') return String.raw`\r`;
    if (code < 0x100) return String.raw`\x${code.toString(16).padStart(2, '0')}`;
    return code < 0x10000 ? String.raw`\u${code.toString(16).padStart(4, '0')}` : String.raw`\u{${code.toString(16)}}`;
  });
