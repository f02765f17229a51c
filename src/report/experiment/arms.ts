import type { AnalysisOutput } from '../../statistics/analysis-output';
import { points } from '../../domain/formats';
import { type Column, number, properties, table, text } from '../../tables/table';
import { note } from '../page/blocks';
import type { Section } from '../page/section';
import { exclusionsText } from './exclusions';
import type { ExperimentReport } from './report';

/** Means of each arm over its seeds. */
export const armsSection: Section<ExperimentReport> = {
  id: 'arms',
  title: 'Arms',
  body: (report) => [
    note(
      `Points of ${report.record.experiment.analysis.metric}, one value per seed. IQM: mean without a quarter of the seeds at ` +
        'each end. The interval describes one arm; two of them do not make a test. It is cut to 0 to 100 points.',
    ),
    armsTable(report),
  ],
};

type Arm = AnalysisOutput['arms'][number];
type ArmsReport = Pick<ExperimentReport, 'record' | 'analysis'>;

const intervalMeaning =
  't interval of the mean over seeds, cut to the 0 to 100 points that a mean can have; CSV and JSON have it uncut';

const collapseMeaning = 'collapsed: seeds that end below half of their first checkpoint, by more than the margin';

const columns: readonly Column<Arm>[] = [
  ...properties('arm', 'seeds', 'tasks'),
  number('mean', (arm) => arm.mean, points),
  number('sd', (arm) => arm.sd, points),
  number('min', (arm) => arm.min, points),
  number('max', (arm) => arm.max, points),
  number('IQM', (arm) => arm.iqm, points),
  { ...text<Arm>('collapsed', (arm) => arm.collapsed.length), explanation: collapseMeaning },
  { ...number<Arm>('95 % low', (arm) => arm.low, points), explanation: intervalMeaning },
  { ...number<Arm>('high', (arm) => arm.high, points), explanation: intervalMeaning },
];

/** The table of arms in points, with all columns or without some. Attempts without a score stand beside the means. */
export function armsTable({ record, analysis }: ArmsReport, without: readonly string[] = []) {
  const { arms, look } = analysis;
  const excluded = text<Arm>('excluded attempts', ({ arm }) => exclusionsText(record, look, arm));
  const recorded = arms.some(({ arm }) => exclusionsText(record, look, arm) !== null);
  const shown = columns.filter(({ name }) => !without.includes(name));
  return table('Arms', arms.map(withinRange), recorded ? [...shown, excluded] : shown);
}

/** Cuts an interval of a mean to the range of the metric. A t interval can leave it: 12 seeds gave 77.2 to 106.8 points. */
export const withinRange = <Mean extends { low: number | null; high: number | null }>(mean: Mean): Mean => ({
  ...mean,
  low: mean.low && Math.max(0, mean.low),
  high: mean.high && Math.min(1, mean.high),
});
