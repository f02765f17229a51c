import * as fc from 'fast-check';
import { hashedNgrams, toUnit } from '../../../../src/domain/tasks/admission/sentence-encoder';

const cosine = (a: string, b: string): number => {
  const [x, y] = [hashedNgrams.encode(a), hashedNgrams.encode(b)];
  return x.reduce((sum, value, i) => sum + value * y[i]!, 0);
};

test('every text is encoded as a unit vector of dimension 512', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const vector = hashedNgrams.encode(text);
      expect(vector).toHaveLength(512);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 12);
    }),
  );
});

test('case and punctuation do not change the vector', () => {
  expect(cosine('Show the name, please!', 'show THE name please')).toBeCloseTo(1, 12);
});

test('texts with more shared words have a larger cosine', () => {
  const text = 'show the name of every singer from france';
  const near = cosine(text, 'show the name of every singer from spain');
  const far = cosine(text, 'show the year of every concert');
  expect(near).toBeGreaterThan(far);
  expect(far).toBeGreaterThan(cosine(text, 'how many dogs bark loudly'));
});

test('the order of words changes the vector', () => {
  expect(cosine('dog bites man', 'man bites dog')).toBeLessThan(0.9);
});

test('toUnit returns the zero vector unchanged', () => {
  expect(toUnit([0, 0])).toEqual([0, 0]);
});
