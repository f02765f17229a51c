import type pg from 'pg';

/** One update of a job, by the trainer's names: loss, margin, accuracy, learning_rate, tokens_per_s and others. */
export type CurvePoint = { step: number; facts: Record<string, number> };

export type TrainingCurve = { jobKey: string; iteration: number; role: string; method: string; points: CurvePoint[] };

/** Lists the reported updates of each training job, in the order of submission. */
export async function listTrainingCurves(client: pg.ClientBase, campaignId: number): Promise<TrainingCurve[]> {
  const { rows } = await client.query<TrainingCurve>(
    `select r.job_key as "jobKey", r.iteration, r.role, r.method,
            json_agg(json_build_object('step', p.step, 'facts', p.facts) order by p.step) as points
       from training_runs r
       join training_progress p on p.job_key = r.job_key
      where r.campaign_id = $1::int
      group by r.job_key
      order by r.iteration, r.submitted_at, r.job_key`,
    [campaignId],
  );
  return rows;
}
