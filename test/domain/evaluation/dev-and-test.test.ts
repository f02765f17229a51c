import { createRandom } from '../../../src/domain/random/seeded-random';
import { decidePromotion, defaultPromotionSettings } from '../../../src/domain/evaluation/promotion';
import { mean } from '../../../src/domain/evaluation/statistics';

const [tasks, iterations, campaigns, skill] = [100, 12, 200, 0.5];

test('of equally good candidates the promoted one scores too high on dev, and as good as it is on test', () => {
  const random = createRandom(3);
  const play = (): number[] => Array.from({ length: tasks }, () => Number(random.next() < skill));
  const final = Array.from({ length: campaigns }, () => {
    let active = { dev: play(), test: play() };
    for (let iteration = 1; iteration <= iterations; iteration++) {
      const candidate = { dev: play(), test: play() };
      const evaluation = { candidate: candidate.dev, incumbent: active.dev, seed: iteration };
      if (decidePromotion(evaluation, defaultPromotionSettings).decision === 'promote') active = candidate;
    }
    return { dev: mean(active.dev), test: mean(active.test) };
  });
  const optimism = mean(final.map(({ dev }) => dev)) - skill;
  expect(optimism).toBeGreaterThan(0.07); // the maximum of 13 scores is 1.67 standard errors (0.05) above their mean
  expect(optimism).toBeLessThan(0.1);
  expect(Math.abs(mean(final.map(({ test: score }) => score)) - skill)).toBeLessThan(0.015); // four standard errors
});
