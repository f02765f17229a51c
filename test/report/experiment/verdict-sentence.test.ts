import { inPoints } from '../../../src/report/experiment/verdict-sentence';

test.each([
  [
    'the difference is significant and lies within the margin of 0.05',
    'the difference is significant and lies within the margin of 5 points',
  ],
  [
    'the difference is -0.0125 at every seed: without deviation there is no p',
    'the difference is -1.25 points at every seed: without deviation there is no p',
  ],
  [
    'no difference shown (adjusted p 0.7, level 0.05), nor equivalence within 0.025 (p 0.2, level 0.05)',
    'no difference shown (adjusted p 0.7, level 0.05), nor equivalence within 2.5 points (p 0.2, level 0.05)',
  ],
  ['one seed has no deviation: no test is possible', 'one seed has no deviation: no test is possible'],
])('the reason %j is shown in points', (reason, shown) => {
  expect(inPoints(reason)).toBe(shown);
});
