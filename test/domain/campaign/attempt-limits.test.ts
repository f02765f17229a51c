import { maxAttemptsWithCrashes, maxFailures } from '../../../src/domain/campaign/attempt-limits';

test('an activity with n failures may also crash its worker 40 times', () => {
  expect(maxAttemptsWithCrashes(3)).toBe(43);
});

test.each([
  [43, 3],
  [41, 1],
  [40, Infinity],
  [undefined, Infinity],
])('of %s attempts %s may fail', (attempts, failures) => {
  expect(maxFailures(attempts)).toBe(failures);
});
