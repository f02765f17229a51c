import * as fc from 'fast-check';
import {
  createGramIndex,
  jaccard,
  containment,
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

test('case and punctuation between words do not change the words', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,6}$/)), (words) => {
      expect(tokenize(words.join(', ').toUpperCase())).toEqual(words);
    }),
  );
});

test('a text of m distinct words has m - n + 1 n-grams, and a shorter text has one', () => {
  const anyWords = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(anyWords, fc.integer({ min: 1, max: 12 }), (words, n) => {
      const grams = [...ngramsOf(words, n)];
      expect(grams).toHaveLength(Math.max(1, words.length - n + 1));
      for (const gram of grams) expect(gram.split(' ')).toHaveLength(Math.min(n, words.length));
    }),
  );
});

test('a text without words has no n-grams', () => {
  expect(ngramsOf([], 8)).toEqual(new Set());
});

test('an n-gram that occurs twice is returned once', () => {
  expect(ngramsOf(['a', 'b', 'a', 'b'], 2)).toEqual(new Set(['a b', 'b a']));
});

test('the index returns the result of a comparison with every text', () => {
  fc.assert(
    fc.property(fc.array(anyGoal()), anyGoal(), fc.constantFrom(1, 2, 3), (texts, text, n) => {
      const index = createGramIndex(n);
      for (const [i, each] of texts.entries()) index.add(String(i), tokenize(each));
      const grams = ngramsOf(tokenize(text), n);
      for (const measure of [jaccard, containment]) {
        const values = texts.map((each) => {
          const otherGrams = ngramsOf(tokenize(each), n);
          return measure(countShared(grams, otherGrams), grams.size, otherGrams.size);
        });
        const best = Math.max(0, ...values);
        const expected = best === 0 ? undefined : { id: String(values.indexOf(best)), value: best };
        expect(index.closest(tokenize(text), measure)).toEqual(expected);
      }
    }),
  );
});

const countShared = (a: Set<string>, b: Set<string>): number => [...a].filter((gram) => b.has(gram)).length;

test('a text has similarity 1 to itself and no match among texts with other words', () => {
  const index = createGramIndex(3);
  index.add('a', tokenize('show the name of every singer'));
  expect(index.closest(tokenize('Show the name of every singer!'), jaccard)).toEqual({ id: 'a', value: 1 });
  expect(index.closest(tokenize('count all concerts in town'), jaccard)).toBeUndefined();
});

test('the containment of four shared 8-grams of six is two thirds', () => {
  const words = 'a b c d e f g h i j k l m'.split(' ');
  const index = createGramIndex(8);
  index.add('held', words.slice(0, 11));
  expect(index.closest(words, containment)).toEqual({ id: 'held', value: 4 / 6 });
});

test('a text of fewer than n words only matches an equal text', () => {
  const index = createGramIndex(8);
  index.add('short', tokenize('how many singers are there'));
  expect(index.closest(tokenize('How many singers are there?'), containment)).toEqual({ id: 'short', value: 1 });
  expect(index.closest(tokenize('how many singers are there in the whole of france'), containment)).toBeUndefined();
});
