import { duration, interval, pEquals, pValue, shortHash, signed, signedPoints } from '../../src/domain/formats';

test.each([
  { seconds: 0.04, text: '0.0 s' },
  { seconds: 9.96, text: '10 s' },
  { seconds: 42.4, text: '42 s' },
  { seconds: 59.6, text: '1 min 0 s' },
  { seconds: 61, text: '1 min 1 s' },
  { seconds: 119.8, text: '2 min 0 s' },
  { seconds: 3599.9, text: '1 h 0 min' },
  { seconds: 7_260, text: '2 h 1 min' },
])('$seconds seconds are formatted as $text', ({ seconds, text }) => {
  expect(duration(seconds)).toBe(text);
});

test('a p value below 0.001 is a bound, never 0', () => {
  expect([0.00001, 0.001, 0.0314, null].map((p) => pValue(p))).toEqual(['< 0.001', '0.001', '0.031', '–']);
  expect([0.00001, 0.0314].map(pEquals)).toEqual(['p < 0.001', 'p = 0.031']);
});

test('a difference has its sign unless it is shown as 0, and an interval without an end is a dash', () => {
  expect([0.0123, -0.0123, 0.0001].map((value) => signedPoints(value))).toEqual(['+1.2', '−1.2', '0.0']);
  expect(interval(-0.25, 0.5, signed)).toBe('−0.250 to +0.500');
  expect(interval(null, 0.5)).toBe('–');
});

test('a short hash has the first twelve digits', () => {
  expect(shortHash('0123456789abcdef')).toBe('0123456789ab');
});
