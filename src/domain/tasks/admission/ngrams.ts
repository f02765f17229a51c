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

const signedNumber = String.raw`(?<![\p{L}\p{M}\p{N}_])-?\p{N}+(?:[.,]\p{N}+)*(?![\p{L}_])`;
const spaceless = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}]`;
const character = String.raw`(?=[\p{L}\p{N}])${spaceless}\p{M}*`;
const wordOrIdentifier = String.raw`(?:(?!${spaceless})[\p{L}\p{M}\p{N}_])+`;
const comparison = '!=+|[<>=≠≤≥]+';
const word = new RegExp([signedNumber, character, wordOrIdentifier, comparison].join('|'), 'gu');

export type Match = { id: string; value: number };

/** Similarity of a query and an indexed text, from the counts of shared n-grams and of the n-grams of each. */
export type Measure = (sharedCount: number, queryCount: number, indexedCount: number) => number;

/** |A ∩ B| / |A ∪ B|, in [0, 1]. */
export const jaccard: Measure = (sharedCount, queryCount, indexedCount) =>
  sharedCount / (queryCount + indexedCount - sharedCount);

/** |A ∩ B| / |A|: share of the query's n-grams that the indexed text contains, in [0, 1]. */
export const containment: Measure = (sharedCount, queryCount) => sharedCount / queryCount;

/**
 * Inverted index of texts by their n-grams (`ngramsOf`). The time of a query depends on the postings of its n-grams, not
 * on the number of texts.
 */
export function createGramIndex(n: number) {
  const postings = new Map<string, number[]>();
  const ids: string[] = [];
  const sizes: number[] = [];
  return {
    add(id: string, words: readonly string[]): void {
      const grams = ngramsOf(words, n);
      for (const gram of grams) {
        const posting = postings.get(gram);
        if (posting) posting.push(ids.length);
        else postings.set(gram, [ids.length]);
      }
      ids.push(id);
      sizes.push(grams.size);
    },

    /** Returns the most similar text, on ties the first one added; undefined if no text shares an n-gram. */
    closest(words: readonly string[], measure: Measure): Match | undefined {
      const grams = ngramsOf(words, n);
      const shared = new Map<number, number>();
      for (const gram of grams) for (const i of postings.get(gram) ?? []) shared.set(i, (shared.get(i) ?? 0) + 1);

      let best: (Match & { index: number }) | undefined;
      for (const [index, count] of shared) {
        const value = measure(count, grams.size, sizes[index]!);
        if (!best || value > best.value || (value === best.value && index < best.index))
          best = { id: ids[index]!, value, index };
      }
      return best && { id: best.id, value: best.value };
    },
  };
}

export type GramIndex = ReturnType<typeof createGramIndex>;
