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

export type Match = { id: string; value: number };

/** How alike two texts are, from the runs that they share and the runs that each has. */
export type Measure = (shared: number, own: number, theirs: number) => number;

/** |A ∩ B| / |A ∪ B|, in [0, 1]. */
export const jaccard: Measure = (shared, own, theirs) => shared / (own + theirs - shared);

/** Share of the asker's own runs, in [0, 1]. */
export const shareOfOwn: Measure = (shared, own) => shared / own;

/**
 * Texts by their runs of `n` words (`ngramsOf`). An inverted index: a question costs the postings of its own runs, not
 * the number of texts.
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

    /** The text most like this one, the first added among equals; undefined when none shares a run with it. */
    closest(words: readonly string[], measure: Measure): Match | undefined {
      const grams = ngramsOf(words, n);
      const shared = new Map<number, number>();
      for (const gram of grams) for (const i of postings.get(gram) ?? []) shared.set(i, (shared.get(i) ?? 0) + 1);

      let best: (Match & { place: number }) | undefined;
      for (const [place, count] of shared) {
        const value = measure(count, grams.size, sizes[place]!);
        if (!best || value > best.value || (value === best.value && place < best.place))
          best = { id: ids[place]!, value, place };
      }
      return best && { id: best.id, value: best.value };
    },
  };
}

export type GramIndex = ReturnType<typeof createGramIndex>;
