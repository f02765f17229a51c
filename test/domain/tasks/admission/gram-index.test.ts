import * as fc from 'fast-check';
import { createGramIndex, jaccard, containment } from '../../../../src/domain/tasks/admission/gram-index';
import { ngramsOf, tokenize } from '../../../../src/domain/tasks/admission/ngrams';
import { anyGoal } from './candidates';

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
