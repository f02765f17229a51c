import * as fc from 'fast-check';
import { shortened } from '../../../src/llm/prompts/shortened';

test('a long text keeps its start and its end', () => {
  expect(shortened('abcdefghij', 4)).toBe('ab [... 6 characters left out ...] ij');
  expect(shortened('abcd', 4)).toBe('abcd');
});

test('no surrogate pair is split, and start, mark and end account for every character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, limit) => {
      const cut = shortened(text, limit);
      expect(cut.isWellFormed()).toBe(true);
      const [, start = text, left = '0', end = ''] =
        /^([^]*) \[\.\.\. (\d+) characters left out \.\.\.\] ([^]*)$/.exec(cut) ?? [];
      expect(text.startsWith(start) && text.endsWith(end)).toBe(true);
      expect(start.length + Number(left) + end.length).toBe(text.length);
    }),
  );
});
