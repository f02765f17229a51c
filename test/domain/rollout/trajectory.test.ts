import { distinctAttempts, isSuccess } from '../../../src/domain/rollout/trajectory';
import { attemptOf } from './attempts';

test.each([
  { reward: 1, expected: true },
  { reward: 0.999, expected: false },
  { reward: 0, expected: false },
])('a reward of $reward is a success: $expected', ({ reward, expected }) => {
  expect(isSuccess(reward)).toBe(expected);
});

test('attempts are returned sorted by id, each once', () => {
  const [a, b] = [attemptOf({ taskId: 'a' }), attemptOf({ taskId: 'b' })];

  expect(distinctAttempts([b, a, { ...b }])).toEqual([a, b]);
});

test.each([-0.1, 1.1, Number.NaN])('a reward of %d is rejected', (reward) => {
  expect(() => distinctAttempts([attemptOf({ reward })])).toThrow(expect.objectContaining({ code: 'InvalidReward' }));
});

test('one id with two rewards is rejected', () => {
  expect(() => distinctAttempts([attemptOf({ reward: 0 }), attemptOf({ reward: 1 })])).toThrow(
    expect.objectContaining({ code: 'ConflictingTrajectory' }),
  );
});
