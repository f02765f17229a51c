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
  expect(() => distinctAttempts([attemptOf({ reward })])).toThrow(
    expect.objectContaining({
      code: 'InvalidReward',
      message: `the reward of 1/target/task-1/0 must lie in [0, 1], got ${reward}`,
    }),
  );
});

test.each([{ reward: 1 }, { taskId: 'task-2' }])('one id with another %p is rejected', (change) => {
  const attempt = attemptOf();
  expect(() => distinctAttempts([attempt, { ...attempt, ...change }])).toThrow(
    expect.objectContaining({
      code: 'ConflictingTrajectory',
      message: '1/target/task-1/0 occurs with different rewards or tasks',
    }),
  );
});
