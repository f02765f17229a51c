import { isSuccess } from '../../../src/domain/rollout/trajectory';

test.each([
  { reward: 1, expected: true },
  { reward: 0.999, expected: false },
  { reward: 0, expected: false },
])('a reward of $reward is a success: $expected', ({ reward, expected }) => {
  expect(isSuccess(reward)).toBe(expected);
});
