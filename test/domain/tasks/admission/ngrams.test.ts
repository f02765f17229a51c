import * as fc from 'fast-check';
import { ngramsOf, tokenize } from '../../../../src/domain/tasks/admission/ngrams';

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
