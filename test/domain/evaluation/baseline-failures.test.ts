import { baselineFailures } from '../../../src/domain/evaluation/baseline-failures';
import { wilsonInterval } from '../../../src/domain/evaluation/statistics';

const settings = { hardFrom: 0.6, confidence: 0.95 };

test('only tasks count that the baseline failed and the policy has played', () => {
  const baseline = new Map([
    ['solved by both', 1],
    ['solved by the baseline alone', 1],
    ['solved now', 0],
    ['nearly solved now', 0.9],
    ['failed still', 0.5],
    ['not played', 0],
  ]);
  const rewards = new Map([
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
  expect(baselineFailures(new Map([['a', 1]]), new Map([['a', 0]]), settings)).toEqual({
    tasks: 0,
    failed: 0,
    nearMisses: 0,
    meanReward: null,
    share: null,
  });
});
