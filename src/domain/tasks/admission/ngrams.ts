/**
 * Splits a text into words: lower case, compatibility forms folded (NFKC). Signed numbers, identifiers and comparisons
 * are single words (`-3.5`, `user_id`, `<=`). Scripts without spaces have one word per character. Other punctuation is
 * dropped.
 */
export function tokenize(text: string): string[] {
  return text.normalize('NFKC').toLowerCase().match(word) ?? [];
}

/**
 * Returns the distinct n-grams of a text, joined with single spaces. A text of fewer than `n` words is one n-gram, so it
 * only matches an equal short text. A text without words has no n-grams.
 *
 * @param n an integer >= 1
 */
export function ngramsOf(words: readonly string[], n: number): Set<string> {
  if (words.length === 0) return new Set();
  if (words.length < n) return new Set([words.join(' ')]);
  return new Set(Array.from({ length: words.length - n + 1 }, (_, i) => words.slice(i, i + n).join(' ')));
}

/** Text of equal goals. Keeps punctuation, unlike `tokenize`: two formulas may differ only in punctuation. */
export function textKey(text: string): string {
  const folded = text.normalize('NFKC').toLowerCase();
  return unusualSpace.test(folded) ? folded.replaceAll(/\s+/g, ' ').trim() : folded;
}

const unusualSpace = /[^\S ]|^ | $| {2}/;

const signedNumber = String.raw`(?<![\p{L}\p{M}\p{N}_])-?\p{N}+(?:[.,]\p{N}+)*(?![\p{L}_])`;
const spaceless = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}]`;
const character = String.raw`(?=[\p{L}\p{N}])${spaceless}\p{M}*`;
const wordOrIdentifier = String.raw`(?:(?!${spaceless})[\p{L}\p{M}\p{N}_])+`;
const comparison = '!=+|[<>=≠≤≥]+';
const word = new RegExp([signedNumber, character, wordOrIdentifier, comparison].join('|'), 'gu');
