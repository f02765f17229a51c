import { unequalExclusions } from '../../../src/domain/evaluation/exclusions';

test.each([
  [[3, 60], [3, 60], null],
  [[1, 30], [2, 60], null],
  [[0, 0], [0, 60], null],
  [[1, 3], [0, 3], 'a 1 of 3 (33.3 %), b 0 of 3'],
] as const)('%j excluded attempts against %j: %j', (a, b, sentence) => {
  const counts = ([excluded, attempts]: readonly [number, number]) => ({ attempts, excluded });
  expect(unequalExclusions(['a', counts(a)], ['b', counts(b)])).toBe(sentence);
});
