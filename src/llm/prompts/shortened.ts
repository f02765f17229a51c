/**
 * Returns a text of at most about `limit` characters: its head and its tail, with the number of characters that are left
 * out between them. A surrogate pair is never split.
 */
export function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = startOf(text, Math.ceil(limit / 2)).length;
  const tail = atCharacter(text, text.length - Math.floor(limit / 2));
  return `${text.slice(0, head)} [... ${tail - head} characters left out ...] ${text.slice(tail)}`;
}

/** Returns at most the first `limit` characters of a text. A surrogate pair is never split. */
export const startOf = (text: string, limit: number): string =>
  text.length <= limit ? text : text.slice(0, atCharacter(text, limit));

/** Returns the index, or the one before it in the middle of a surrogate pair. */
const atCharacter = (text: string, index: number): number =>
  (text.codePointAt(index - 1) ?? 0) > 0xff_ff ? index - 1 : index;
