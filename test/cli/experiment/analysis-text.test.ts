import { readConfig } from '../../../src/config';
import { analysisText } from '../../../src/cli/experiment/analysis-text';
import { analysisInput } from '../../../src/statistics/analysis-input';
import { exportFiles, renderExperiment } from '../../../src/report/experiment';
import { analysisKey, runStatistics } from '../../../src/statistics/run-statistics';
import { simulateRecord } from '../../support/long-table';
import { tableOf } from '../../report/read-page';

async function reportOf() {
  const record = simulateRecord({ effects: { none: 0, signals: 0.4, random: 0 } });
  const input = analysisInput(record, record.experiment.looks.at(-1)!);
  const analysis = await runStatistics(readConfig({ PATH: process.env['PATH'] }), input);
  const arms = analysis.arms.map((arm) => (arm.arm === 'signals' ? { ...arm, low: 0.772, high: 1.068 } : arm));
  return { record, analysis: { ...analysis, arms }, inputHash: analysisKey(input), looks: [], flips: [] };
}

test('a p value is a bound below 0.001, and the interval of an arm ends at 100 points, in every format', async () => {
  const report = await reportOf();
  const texts = [
    analysisText(report),
    renderExperiment(report),
    exportFiles('md', report.record, report)[0]!.content as string,
  ];
  for (const text of texts) {
    expect(text).toMatch(/(?:<|&lt;) 0\.001/);
    expect(text).not.toMatch(/\b0\.0000\b|106\.8/);
    expect(text).toContain('77.2');
  }
  expect(
    tableOf(texts[1]!, 'Arms')
      .find(([arm]) => arm === 'signals')!
      .slice(-2),
  ).toEqual(['77.2', '100.0']);
});
