import type pg from 'pg';
import { interval, rate } from '../../domain/formats';
import { number, properties, table, text } from '../../tables/table';
import { lead } from '../page/blocks';
import { defineSection } from './campaign-data';

/** The judge's accuracy; left out of a campaign without judgements. */
export const judgeSection = defineSection({
  id: 'judge',
  title: 'Judge',
  queries: { calibrations: listJudgeCalibrations, agreements: listJudgeAgreement },
  body({ calibrations, agreements }) {
    if (calibrations.length === 0 && agreements.length === 0) return null;
    return [
      lead(
        'A calibration gives the judge trajectories with known verdicts: reference actions, and reference actions that were ' +
          'made wrong on purpose as an author errs; no prompt names actions that are right. `synthesis.rule` decides which ' +
          'verdicts admit a candidate: the environment’s replay, the judge’s, or both. Those of a judge that is not trusted ' +
          'admit nothing: the campaign parks, or the solver replaces it (`judge.whenUntrusted`).',
      ),
      calibrations.length > 0 && calibrationTable(calibrations),
      agreements.length > 0 && agreementTable(agreements),
    ];
  },
});

const calibrationTable = (calibrations: readonly JudgeCalibration[]) =>
  table('Calibrations', calibrations, [
    text('iteration', (c) => c.iteration),
    text('judge', (c) => c.judgeVersion),
    text('drift', (c) => c.drift),
    text('not trusted', (c) => c.distrust),
    number('reference accepted', (c) => c.truePositives),
    number('corrupted accepted', (c) => c.falsePositives),
    number('corrupted refused', (c) => c.trueNegatives),
    number('reference refused', (c) => c.falseNegatives),
    number('no answer', (c) => c.unusable),
    number('left out', (c) => c.dropped),
    number('agreement', (c) => c.agreement, rate),
    number('95 % interval', (c) => interval(c.agreementLow, c.agreementHigh)),
    number('precision', (c) => c.precision, rate),
    number('95 % interval', (c) => interval(c.precisionLow, c.precisionHigh)),
    number('recall', (c) => c.recall, rate),
    number('95 % interval', (c) => interval(c.recallLow, c.recallHigh)),
  ]);

const agreementTable = (agreements: readonly JudgeAgreement[]) =>
  table('Judge and environment on the same candidates', agreements, [
    ...properties('iteration', 'grader'),
    number('both accept', (a) => a.both),
    ...properties('judgeOnly', 'environmentOnly', 'neither'),
    number('no answer', (a) => a.unusable),
  ]);

export type JudgeCalibration = {
  iteration: number;
  judgeVersion: string;
  truePositives: number; // reference actions, judged completed
  falsePositives: number; // corrupted actions, judged completed
  trueNegatives: number;
  falseNegatives: number;
  unusable: number; // no usable answer
  dropped: number; // reference items that failed, and corrupted items that still succeeded
  agreement: number | null; // share of usable verdicts, if there are any
  agreementLow: number;
  agreementHigh: number;
  precision: number | null;
  precisionLow: number;
  precisionHigh: number;
  recall: number | null;
  recallLow: number;
  recallHigh: number;
  drift: string | null; // difference from the first calibration
  distrust: string | null; // why its verdicts do not count
};

/** Lists the calibrations of the judge with Wilson intervals. */
export async function listJudgeCalibrations(client: pg.ClientBase, campaignId: number): Promise<JudgeCalibration[]> {
  const { rows } = await client.query<JudgeCalibration>(
    `select iteration, judge_version as "judgeVersion", true_positives as "truePositives",
            false_positives as "falsePositives", true_negatives as "trueNegatives",
            false_negatives as "falseNegatives", unusable, dropped,
            agreement, agreement_low as "agreementLow", agreement_high as "agreementHigh",
            precision, precision_low as "precisionLow", precision_high as "precisionHigh",
            recall, recall_low as "recallLow", recall_high as "recallHigh", reason as drift,
            (select e.detail ->> 'reason' from reporting.events e
              where e.campaign_id = c.campaign_id and e.iteration = c.iteration and e.kind = 'judge-untrusted'
              order by e.id desc limit 1) as distrust
       from reporting.judge_calibrations c
      where campaign_id = $1::int
      order by iteration, judge_version`,
    [campaignId],
  );
  return rows;
}

export type JudgeAgreement = {
  iteration: number;
  grader: 'environment' | 'judge'; // of the candidates
  both: number; // the judge accepts and the environment gives reward 1
  judgeOnly: number;
  environmentOnly: number;
  neither: number;
  unusable: number; // the judge gave no usable answer
};

/** Compares judge and environment on the same candidates: the environment replayed them, the judge read the record. */
export async function listJudgeAgreement(client: pg.ClientBase, campaignId: number): Promise<JudgeAgreement[]> {
  const { rows } = await client.query<JudgeAgreement>(
    `select j.iteration, k.grader,
            (count(*) filter (where j.completed and v.reward >= 1))::int as both,
            (count(*) filter (where j.completed and v.reward < 1))::int as "judgeOnly",
            (count(*) filter (where not j.completed and v.reward >= 1))::int as "environmentOnly",
            (count(*) filter (where not j.completed and v.reward < 1))::int as neither,
            (count(*) filter (where j.completed is null))::int as unusable
       from reporting.judgements j
       join reporting.tasks k on k.campaign_id = j.campaign_id and k.id = j.task_id
       join reporting.attempts v on v.campaign_id = j.campaign_id and v.iteration = j.iteration and v.task_id = j.task_id
                          and v.purpose = 'validation' and v.outcome = 'scored'
      where j.campaign_id = $1::int and j.kind = 'candidate'
      group by j.iteration, k.grader
      order by j.iteration, k.grader`,
    [campaignId],
  );
  return rows;
}
