import { lead } from '../../page/blocks';
import { count, interval, nothing, rate } from '../../page/format';
import type { Html } from '../../page/html';
import { defineSection } from '../../page/section';
import { table } from '../../page/table';
import { type JudgeAgreement, type JudgeCalibration, listJudgeAgreement, listJudgeCalibrations } from './query';

/** The judge's accuracy; left out of a campaign without judgements. */
export const judgeSection = defineSection({
  id: 'judge',
  title: 'Judge',
  queries: { calibrations: listJudgeCalibrations, agreements: listJudgeAgreement },
  render({ calibrations, agreements }) {
    if (calibrations.length === 0 && agreements.length === 0) return null;
    return [
      lead(
        'A calibration gives the judge trajectories with known verdicts: reference actions, and reference actions that were ' +
          'corrupted on purpose; no prompt names actions that are right. `synthesis.rule` decides which verdicts admit a ' +
          'candidate: the environment’s replay, the judge’s, or both.',
      ),
      ...(calibrations.length > 0 ? [calibrationTable(calibrations)] : []),
      ...(agreements.length > 0 ? [agreementTable(agreements)] : []),
    ];
  },
});

const calibrationTable = (calibrations: readonly JudgeCalibration[]): Html =>
  table({
    caption: 'Calibrations',
    head: [
      'iteration',
      'judge',
      'drift',
      'reference accepted',
      'corrupted accepted',
      'corrupted refused',
      'reference refused',
      'no answer',
      'left out',
      'agreement',
      '95 % interval',
      'precision',
      '95 % interval',
      'recall',
      '95 % interval',
    ],
    textColumns: 3,
    rows: calibrations.map((c) => [
      String(c.iteration),
      c.judgeVersion,
      c.drift ?? nothing,
      count(c.truePositives),
      count(c.falsePositives),
      count(c.trueNegatives),
      count(c.falseNegatives),
      count(c.unusable),
      count(c.dropped),
      rate(c.agreement),
      interval(c.agreementLow, c.agreementHigh),
      rate(c.precision),
      interval(c.precisionLow, c.precisionHigh),
      rate(c.recall),
      interval(c.recallLow, c.recallHigh),
    ]),
  });

const agreementTable = (agreements: readonly JudgeAgreement[]): Html =>
  table({
    caption: 'Judge and environment on the same candidates',
    head: ['iteration', 'grader', 'both accept', 'judge only', 'environment only', 'neither', 'no answer'],
    textColumns: 2,
    rows: agreements.map((a) => [
      String(a.iteration),
      a.grader,
      count(a.both),
      count(a.judgeOnly),
      count(a.environmentOnly),
      count(a.neither),
      count(a.unusable),
    ]),
  });
