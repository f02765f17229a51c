import * as fc from 'fast-check';
import {
  createGramIndex,
  jaccard,
  shareOfOwn,
  ngramsOf,
  tokenize,
} from '../../../../src/domain/tasks/admission/ngrams';
import { anyGoal } from './candidates';

test.each([
  ['Show user_id, please!', ['show', 'user_id', 'please']],
  ['from -5 to 3.5 or 1,000', ['from', '-5', 'to', '3.5', 'or', '1,000']],
  ['x<=3 and y != 4', ['x', '<=', '3', 'and', 'y', '!=', '4']],
  ['on 2018-03-07, the 2nd', ['on', '2018', '03', '07', 'the', '2nd']],
  ['ÜBER ﬁne', ['über', 'fine']],
  ['漢字 and more', ['漢', '字', 'and', 'more']],
  ['?!', []],
])('the words of "%s" are %j', (text, words) => {
  expect(tokenize(text)).toEqual(words);
});

test('case and punctuation between words make no other words', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,6}$/)), (words) => {
      expect(tokenize(words.join(', ').toUpperCase())).toEqual(words);
    }),
  );
});

test('a text has as many runs as places, each of n words, and a shorter one is one run', () => {
  const anyWords = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(anyWords, fc.integer({ min: 1, max: 12 }), (words, n) => {
      const grams = [...ngramsOf(words, n)];
      expect(grams).toHaveLength(Math.max(1, words.length - n + 1));
      for (const gram of grams) expect(gram.split(' ')).toHaveLength(Math.min(n, words.length));
    }),
  );
});

test('a text without words has no runs', () => {
  expect(ngramsOf([], 8)).toEqual(new Set());
});

test('a run that occurs twice is one run', () => {
  expect(ngramsOf(['a', 'b', 'a', 'b'], 2)).toEqual(new Set(['a b', 'b a']));
});

test('the index finds what comparing with every text would', () => {
  fc.assert(
    fc.property(fc.array(anyGoal()), anyGoal(), fc.constantFrom(1, 2, 3), (texts, text, n) => {
      const index = createGramIndex(n);
      for (const [i, each] of texts.entries()) index.add(String(i), tokenize(each));
      const own = ngramsOf(tokenize(text), n);
      for (const measure of [jaccard, shareOfOwn]) {
        const values = texts.map((each) => {
          const theirs = ngramsOf(tokenize(each), n);
          return measure(shared(own, theirs), own.size, theirs.size);
        });
        const best = Math.max(0, ...values);
        const expected = best === 0 ? undefined : { id: String(values.indexOf(best)), value: best };
        expect(index.closest(tokenize(text), measure)).toEqual(expected);
      }
    }),
  );
});

const shared = (a: Set<string>, b: Set<string>): number => [...a].filter((gram) => b.has(gram)).length;

test('a text is like itself, and unlike one of other words', () => {
  const index = createGramIndex(3);
  index.add('a', tokenize('show the name of every singer'));
  expect(index.closest(tokenize('Show the name of every singer!'), jaccard)).toEqual({ id: 'a', value: 1 });
  expect(index.closest(tokenize('count all concerts in town'), jaccard)).toBeUndefined();
});

test('four of six shared 8-grams are a share of two thirds', () => {
  const words = 'a b c d e f g h i j k l m'.split(' ');
  const index = createGramIndex(8);
  index.add('held', words.slice(0, 11));
  expect(index.closest(words, shareOfOwn)).toEqual({ id: 'held', value: 4 / 6 });
});

test('a text shorter than a run equals the same short text alone', () => {
  const index = createGramIndex(8);
  index.add('short', tokenize('how many singers are there'));
  expect(index.closest(tokenize('How many singers are there?'), shareOfOwn)).toEqual({ id: 'short', value: 1 });
  expect(index.closest(tokenize('how many singers are there in the whole of france'), shareOfOwn)).toBeUndefined();
});
