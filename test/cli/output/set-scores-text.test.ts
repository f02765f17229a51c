import { groupScoresText, setScoresText } from '../../../src/cli/output/set-scores-text';
import type { SetScore } from '../../../src/store/training/set-scores';

const score = (changes: Partial<SetScore>): SetScore => ({
  iteration: 0,
  policyId: 'a'.repeat(64),
  evaluationSet: 'dev',
  feature: null,
  value: null,
  tasks: 40,
  successes: 10,
  deviation: Math.sqrt((0.25 * 0.75 * 40) / 39),
  passAt: [],
  attempts: 41,
  excluded: 1,
  meanReward: 0.5,
  rewardDeviation: 0.4,
  ...changes,
});

test('dev and test stand apart, and the text names the set that the promotion gate reads', () => {
  const [table, sentence] = setScoresText([score({}), score({ evaluationSet: 'test' })], 0.95);
  expect(table!.split('\n')[1]).toMatch(
    /^dev +0 +a{12} +40 +0\.250 +1 of 41 \(2\.4 %\) +0\.142 to 0\.402 +0\.500 +0\.381 to 0\.619$/,
  );
  expect(table!.split('\n')[2]).toMatch(/^test /);
  expect(sentence).toBe('The promotion gate reads dev; no choice reads the other sets.');
  expect(setScoresText([score({})], 0.95)[1]).toBe('The promotion gate reads dev; there is no score on a test set.');
  expect(setScoresText([], 0.95)).toEqual([]);
});

test('there is a table per feature', () => {
  const group = (feature: string, value: string) => score({ evaluationSet: 'test', feature, value });
  const tables = groupScoresText(
    [score({}), group('fold', 'seen'), group('fold', 'unseen'), group('pattern', 'boil')],
    0.95,
  );
  expect(tables).toHaveLength(2);
  expect(tables[0]).toMatch(/^set +policy +fold +tasks/);
  expect(tables[0]!.split('\n')).toHaveLength(3);
});
