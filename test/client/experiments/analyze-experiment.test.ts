import { readConfig } from '../../../src/config';
import { withoutScores } from '../../../src/client/experiments/analyze-experiment';
import { contrastKeys } from '../../../src/statistics/contrast-columns';
import { runStatistics } from '../../../src/statistics/run-statistics';
import { smallAnalysis } from '../../statistics/support/small-analysis';

test('before a declared look only completeness and effort are shown', async () => {
  const output = await runStatistics(readConfig(), smallAnalysis());
  const { effort, contrasts, version, look, level, broken, conditionalPower, ordering, ...lists } =
    withoutScores(output);
  expect({ effort, version, look }).toEqual({ effort: output.effort, version: output.version, look: output.look });
  expect([conditionalPower, ordering]).toEqual([null, null]);
  expect({ level, broken }).toEqual({ level: output.level, broken: output.broken });
  expect(Object.values(lists)).toEqual([[], [], [], [], [], [], []]);
  for (const contrast of contrasts) {
    expect(contrastKeys.map((key) => contrast[key])).toEqual(contrastKeys.map(() => null));
    expect(contrast).toMatchObject({ verdict: 'invalid', differences: [], reasons: [expect.any(String)] });
  }
});

test('a part or a statistic that an analysis gets later stays hidden before a declared look', async () => {
  const output = await runStatistics(readConfig(), smallAnalysis());
  const contrasts = output.contrasts.map((contrast) => ({ ...contrast, median: 0.1234 }));
  const later = { ...output, medians: [0.1234], contrasts };
  expect(JSON.stringify(withoutScores(later))).not.toMatch(/median|0\.1234/);
});
