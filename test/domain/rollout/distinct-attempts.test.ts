import { distinctAttempts } from '../../../src/domain/rollout/distinct-attempts';
import { attemptOf } from './attempts';

test('attempts come back by id, each once', () => {
  const [a, b] = [attemptOf({ taskId: 'a' }), attemptOf({ taskId: 'b' })];

  expect(distinctAttempts([b, a, { ...b }])).toEqual([a, b]);
});

test.each([-0.1, 1.1, Number.NaN])('a reward of %d is refused', (reward) => {
  expect(() => distinctAttempts([attemptOf({ reward })])).toThrow(expect.objectContaining({ code: 'InvalidReward' }));
});

test('one id with two rewards is refused', () => {
  expect(() => distinctAttempts([attemptOf({ reward: 0 }), attemptOf({ reward: 1 })])).toThrow(
    expect.objectContaining({ code: 'ConflictingTrajectory' }),
  );
});
