/**
 * The words of a text: lower case, compatibility forms folded (NFKC). Numbers with their sign and identifiers are words
 * and stay whole (`-3.5`, `user_id`), so are comparisons (`<=`); scripts written without spaces give one word per
 * character; other punctuation gives none.
 */
export function tokenize(text: string): string[] {
  return text.normalize('NFKC').toLowerCase().match(word) ?? [];
}

/**
 * The runs of `n` words, each once and written with single spaces. A text of fewer words is one run, the whole of it:
 * it equals another short text or nothing. A text without words has no runs.
 *
 * @param n an integer >= 1
 */
export function ngramsOf(words: readonly string[], n: number): Set<string> {
  if (words.length === 0) return new Set();
  if (words.length < n) return new Set([words.join(' ')]);
  return new Set(Array.from({ length: words.length - n + 1 }, (_, i) => words.slice(i, i + n).join(' ')));
}

const signedNumber = String.raw`(?<![\p{L}\p{M}\p{N}_])-?\p{N}+(?:[.,]\p{N}+)*(?![\p{L}_])`;
const spaceless = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}]`;
const character = String.raw`(?=[\p{L}\p{N}])${spaceless}\p{M}*`;
const wordOrIdentifier = String.raw`(?:(?!${spaceless})[\p{L}\p{M}\p{N}_])+`;
const comparison = '!=+|[<>=≠≤≥]+';
const word = new RegExp([signedNumber, character, wordOrIdentifier, comparison].join('|'), 'gu');
