import * as fc from 'fast-check';
import { actionPatterns, patternExtractors } from '../../../src/domain/signals/action-pattern';

const actions = ['f(1)', 'g(2)', 'f(3)', 'g(4)'];

test.each([
  { extractor: 'whole' as const, patterns: ['f > g > f > g'] },
  { extractor: 'bigram' as const, patterns: ['f > g', 'g > f', 'f > g'] },
  { extractor: 'trigram' as const, patterns: ['f > g > f', 'g > f > g'] },
  { extractor: 'name-set' as const, patterns: ['f | g'] },
])('the $extractor patterns of f g f g are $patterns', ({ extractor, patterns }) => {
  expect(actionPatterns(actions, extractor)).toEqual(patterns);
});

test('a trajectory shorter than the run is its own pattern, and one without actions has none', () => {
  expect(actionPatterns(['f(1)'], 'bigram')).toEqual(['f']);
  expect(actionPatterns(['f(1)', 'g(1)'], 'trigram')).toEqual(['f > g']);
  for (const extractor of patternExtractors) expect(actionPatterns([], extractor)).toEqual([]);
});

test('arguments are normalised away, and a trajectory of n actions has n - 1 bigrams', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('f', 'g', 'h'), fc.integer()), { minLength: 2 }), (calls) => {
      const written = calls.map(([name, argument]) => `${name}(${argument})`);
      const bare = calls.map(([name]) => `${name}()`);
      for (const extractor of patternExtractors)
        expect(actionPatterns(written, extractor)).toEqual(actionPatterns(bare, extractor));
      expect(actionPatterns(written, 'bigram')).toHaveLength(calls.length - 1);
    }),
  );
});
