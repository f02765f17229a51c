import { ngramsOf } from './ngrams';

export type Match = { id: string; value: number };

/**
 * Similarity of a query and an indexed text, from the counts of shared n-grams and of the n-grams of each. It grows with the
 * shared ones, and never with those of the indexed text.
 */
export type Measure = (sharedCount: number, queryCount: number, indexedCount: number) => number;

/** |A ∩ B| / |A ∪ B|, in [0, 1]. */
export const jaccard: Measure = (sharedCount, queryCount, indexedCount) =>
  sharedCount / (queryCount + indexedCount - sharedCount);

/** |A ∩ B| / |A|: share of the query's n-grams that the indexed text contains, in [0, 1]. */
export const containment: Measure = (sharedCount, queryCount) => sharedCount / queryCount;

/** The n-grams of a text: the numbers of those that a vocabulary has, and the count of all distinct ones. */
export type Grams = { numbers: readonly number[]; count: number };

/** Numbers n-grams (`ngramsOf`), which are found word by word: most n-grams of other texts end at their first word. */
export function createVocabulary(n: number) {
  const root: Node = { next: new Map() };
  let size = 0;

  /** Returns the node at the end of the words from `start` on, or undefined if no learned n-gram begins like them. */
  const find = (words: readonly string[], start: number): Node | undefined => {
    let node: Node | undefined = root;
    for (let i = start; node && i < start + n && i < words.length; i++) node = node.next.get(words[i]!);
    return node;
  };
  return {
    /** Returns the n-grams of a text after it has numbered the new ones. */
    learn(words: readonly string[]): Grams {
      const numbers = new Set<number>();
      for (let start = 0; start < startsOf(words.length, n); start++) {
        let node = root;
        for (const word of words.slice(start, start + n)) node = nextNode(node, word);
        numbers.add((node.number ??= size++));
      }
      return { numbers: [...numbers], count: numbers.size };
    },

    /** Returns the n-grams of a text without new ones; a text that has none of the learned ones is not counted. */
    find(words: readonly string[]): Grams {
      const numbers: number[] = [];
      const starts = startsOf(words.length, n);
      for (let start = 0; start < starts; start++) {
        const number = find(words, start)?.number;
        if (number !== undefined) numbers.push(number);
      }
      if (numbers.length === 0) return { numbers, count: 0 };
      const count = countGrams(words, n);
      return { numbers: count === starts ? numbers : [...new Set(numbers)], count };
    },
  };
}

/** `number`: of the n-gram that ends here. */
type Node = { next: Map<string, Node>; number?: number };

function nextNode({ next }: Node, word: string): Node {
  const known = next.get(word);
  if (known) return known;
  const created: Node = { next: new Map() };
  next.set(word, created);
  return created;
}

/** A text of fewer than `n` words is one n-gram. */
const startsOf = (words: number, n: number): number => (words === 0 ? 0 : Math.max(1, words - n + 1));

/** Counts the distinct n-grams. Only a text in which two n-grams begin with the same two words needs their texts. */
function countGrams(words: readonly string[], n: number): number {
  const starts = startsOf(words.length, n);
  const last = new Map<string, number>();
  const before: (number | undefined)[] = [];
  for (let i = 0; i < starts; i++) {
    before.push(last.get(words[i]!));
    for (let k = before[i]; k !== undefined; k = before[k])
      if (n === 1 || words[k + 1] === words[i + 1]) return ngramsOf(words, n).size;
    last.set(words[i]!, i);
  }
  return starts;
}

/**
 * Inverted index of texts by their n-grams. A query reads its rarest n-grams first and stops when no other text can be as
 * similar as the best one, so it seldom reads the n-grams that most texts have.
 */
export function createPostings() {
  const ids: string[] = [];
  const texts: Grams[] = [];
  const postings = new Map<number, number[]>();
  let smallest = Infinity;
  let query = 0;
  let lastWanted = new Int32Array(0); // by number: the last query that has it
  let lastCompared = new Int32Array(0); // by text: the last query that was compared with it
  return {
    /** A text without numbered n-grams is never found. */
    add(id: string, grams: Grams): void {
      if (grams.numbers.length === 0) return;
      for (const number of grams.numbers) {
        const posting = postings.get(number);
        if (posting) posting.push(ids.length);
        else postings.set(number, [ids.length]);
      }
      ids.push(id);
      texts.push(grams);
      smallest = Math.min(smallest, grams.count);
    },

    /**
     * Returns the most similar text, on ties the first one added; undefined if no text shares an n-gram, or none is as
     * similar as `atLeast`.
     */
    closest({ numbers, count }: Grams, measure: Measure, atLeast = 0): Match | undefined {
      query += 1;
      lastCompared = withRoom(lastCompared, ids.length);
      const read: number[][] = [];
      for (const number of numbers) {
        const posting = postings.get(number);
        if (!posting) continue;
        read.push(posting);
        lastWanted = withRoom(lastWanted, number + 1);
        lastWanted[number] = query;
      }
      read.sort((a, b) => a.length - b.length);
      let best = { value: atLeast, index: Infinity };
      for (const [i, posting] of read.entries()) {
        const left = read.length - i; // a text that was not compared yet shares no more than these
        if (measure(left, count, Math.max(left, smallest)) < best.value) break;
        for (const index of posting) {
          if (lastCompared[index] === query) continue;
          lastCompared[index] = query;
          const text = texts[index]!;
          let shared = 0;
          for (const number of text.numbers) if (lastWanted[number] === query) shared++;
          const value = measure(shared, count, text.count);
          if (value > best.value || (value === best.value && index < best.index)) best = { value, index };
        }
      }
      return best.index === Infinity ? undefined : { id: ids[best.index]!, value: best.value };
    },
  };
}

function withRoom(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  if (array.length >= length) return array;
  const grown = new Int32Array(2 * length);
  grown.set(array);
  return grown;
}

/** Index of texts by their n-grams, which learns those of every text. */
export function createGramIndex(n: number) {
  const vocabulary = createVocabulary(n);
  const postings = createPostings();
  return {
    add: (id: string, words: readonly string[]): void => postings.add(id, vocabulary.learn(words)),
    closest: (words: readonly string[], measure: Measure): Match | undefined =>
      postings.closest(vocabulary.find(words), measure),
  };
}

export type GramIndex = ReturnType<typeof createGramIndex>;
