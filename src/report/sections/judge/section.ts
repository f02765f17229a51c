import type { CampaignReport } from '../../collect-report';
import type { Html } from '../../page/html';
import { count, interval, nothing, rate } from '../../page/format';
import { lead, type Section } from '../../page/blocks';
import { table } from '../../page/table';

/** How far the judge can be trusted; null where nothing was judged. */
export function judgeSection(report: CampaignReport): Section | null {
  const { calibrations, agreements } = report;
  if (calibrations.length === 0 && agreements.length === 0) return null;
  return {
    id: 'judge',
    title: 'Judge',
    body: [
      lead(
        'A calibration asks the judge of trajectories whose verdict is known: gold ones, and ones broken on purpose. ' +
          'Where the environment verifies a task by replay, its verdict outranks the judge.',
      ),
      ...(calibrations.length > 0 ? [calibrationTable(report)] : []),
      ...(agreements.length > 0 ? [agreementTable(report)] : []),
    ],
  };
}

const calibrationTable = ({ calibrations }: CampaignReport): Html =>
  table({
    caption: 'Calibrations',
    head: [
      ...['iteration', 'judge', 'drift', 'gold accepted', 'broken accepted', 'broken refused', 'gold refused'],
      ...[
        'no answer',
        'left out',
        'agreement',
        '95 % interval',
        'precision',
        '95 % interval',
        'recall',
        '95 % interval',
      ],
    ],
    textColumns: 3,
    rows: calibrations.map((c) => [
      ...[String(c.iteration), c.judgeVersion, c.drift ?? nothing, count(c.truePositives), count(c.falsePositives)],
      ...[count(c.trueNegatives), count(c.falseNegatives), count(c.unusable), count(c.dropped)],
      ...[rate(c.agreement), interval(c.agreementLow, c.agreementHigh)],
      ...[rate(c.precision), interval(c.precisionLow, c.precisionHigh)],
      ...[rate(c.recall), interval(c.recallLow, c.recallHigh)],
    ]),
  });

const agreementTable = ({ agreements }: CampaignReport): Html =>
  table({
    caption: 'Judge and environment on the same candidates',
    head: ['iteration', 'grader', 'both accept', 'judge alone', 'environment alone', 'neither', 'no answer'],
    textColumns: 2,
    rows: agreements.map((a) => [
      ...[String(a.iteration), a.grader, count(a.both), count(a.judgeOnly), count(a.environmentOnly)],
      ...[count(a.neither), count(a.unusable)],
    ]),
  });
