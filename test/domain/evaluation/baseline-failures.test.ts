import { baselineFailures } from '../../../src/domain/evaluation/baseline-failures';
import { wilsonInterval } from '../../../src/domain/evaluation/statistics';

const settings = { hardFrom: 0.6, confidence: 0.95 };

/** Single attempts, which succeed with a reward of 1. */
const scoresOf = (rewards: [task: string, reward: number][]) =>
  new Map(rewards.map(([task, reward]) => [task, { reward, success: Number(reward === 1) }]));

test('a task is failed unless every attempt at it solves it', () => {
  const half = { reward: 0.5, success: 0.5 };
  const once = scoresOf([['a', 1]]);
  expect(baselineFailures(new Map([['a', half]]), once, settings)).toMatchObject({ tasks: 1, failed: 0 });
  expect(baselineFailures(new Map([['a', half]]), new Map([['a', half]]), settings)).toMatchObject({ failed: 1 });
});

test('only tasks count that the baseline failed and the policy has played', () => {
  const baseline = scoresOf([
    ['solved by both', 1],
    ['solved by the baseline alone', 1],
    ['solved now', 0],
    ['nearly solved now', 0.9],
    ['failed still', 0.5],
    ['not played', 0],
  ]);
  const rewards = scoresOf([
    ['solved by both', 1],
    ['solved by the baseline alone', 0],
    ['solved now', 1],
    ['nearly solved now', 0.6],
    ['failed still', 0.2],
    ['of another set', 0],
  ]);
  expect(baselineFailures(baseline, rewards, settings)).toEqual({
    tasks: 3,
    failed: 2,
    nearMisses: 1,
    meanReward: 0.6,
    share: { rate: 2 / 3, ...wilsonInterval(2, 3) },
  });
});

test('a baseline without failures leaves nothing to count', () => {
  expect(baselineFailures(scoresOf([['a', 1]]), scoresOf([['a', 0]]), settings)).toEqual({
    tasks: 0,
    failed: 0,
    nearMisses: 0,
    meanReward: null,
    share: null,
  });
});
