import type pg from 'pg';

export type JudgeCalibration = {
  iteration: number;
  judgeVersion: string;
  truePositives: number; // reference actions, judged completed
  falsePositives: number; // corrupted actions, judged completed
  trueNegatives: number;
  falseNegatives: number;
  unusable: number; // no usable answer
  dropped: number; // reference items that failed, and corrupted items that still succeeded
  agreement: number | null; // share of usable verdicts; null: none
  agreementLow: number;
  agreementHigh: number;
  precision: number | null;
  precisionLow: number;
  precisionHigh: number;
  recall: number | null;
  recallLow: number;
  recallHigh: number;
  drift: string | null; // difference from the first calibration
};

/** Lists the calibrations of the judge with Wilson intervals. */
export async function listJudgeCalibrations(client: pg.ClientBase, campaignId: number): Promise<JudgeCalibration[]> {
  const { rows } = await client.query<JudgeCalibration>(
    `select iteration, judge_version as "judgeVersion", true_positives as "truePositives",
            false_positives as "falsePositives", true_negatives as "trueNegatives",
            false_negatives as "falseNegatives", unusable, dropped,
            agreement, agreement_low as "agreementLow", agreement_high as "agreementHigh",
            precision_ as precision, precision_low as "precisionLow", precision_high as "precisionHigh",
            recall, recall_low as "recallLow", recall_high as "recallHigh", reason as drift
       from judge_calibrations
      where campaign_id = $1::int
      order by iteration`,
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
       from judgements j
       join tasks k on k.campaign_id = j.campaign_id and k.id = j.task_id
       join trajectories v on v.campaign_id = j.campaign_id and v.iteration = j.iteration and v.task_id = j.task_id
                          and v.purpose = 'validation' and v.outcome = 'scored'
      where j.campaign_id = $1::int and j.kind = 'candidate'
      group by j.iteration, k.grader
      order by j.iteration, k.grader`,
    [campaignId],
  );
  return rows;
}
