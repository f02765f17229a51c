import type { Pool } from 'pg';
import type { AnalysisOutput } from '../../../statistics/analysis-output';
import type { ExperimentRecord } from '../../../domain/experiment/record';
import type { FlippedTask } from '../model/report';
import { flippedTasks } from './flipped-tasks';

type Sought = { campaign: string; checkpoint: number; task: string };

/** Lists tasks won and lost with the attempts behind them, which the long table lacks. */
export async function readFlips(
  pool: Pool,
  record: ExperimentRecord,
  analysis: AnalysisOutput,
): Promise<FlippedTask[]> {
  const flips = flippedTasks(record, analysis);
  const plus = await findAttempts(pool, flips.map((flip) => ({ ...flip.plus, task: flip.task }))); // prettier-ignore
  const minus = await findAttempts(pool, flips.map((flip) => ({ ...flip.minus, task: flip.task }))); // prettier-ignore
  return flips.map(({ contrast, seed, task, won }, i) => ({
    contrast,
    seed,
    task,
    won,
    plusAttempt: plus[i] ?? null,
    minusAttempt: minus[i] ?? null,
  }));
}

/** Returns `<campaign>/<trajectory>` of the first attempt for each; null: the campaign is not in this database. */
async function findAttempts(pool: Pool, sought: readonly Sought[]): Promise<(string | null)[]> {
  const { rows } = await pool.query<{ attempt: string | null }>(
    `select (select c.name || '/' || r.id
               from campaigns c
               join tasks t on t.campaign_id = c.id and t.content_key = sought.task and t.split = 'held-out'
               join trajectories r on r.campaign_id = c.id and r.task_id = t.id and r.purpose = 'test'
                                  and r.iteration = sought.checkpoint
              where c.name = sought.campaign
              order by r.attempt limit 1) as attempt
       from unnest($1::text[], $2::integer[], $3::text[]) with ordinality
         as sought (campaign, checkpoint, task, position)
      order by position`,
    [sought.map((s) => s.campaign), sought.map((s) => s.checkpoint), sought.map((s) => s.task)],
  );
  return rows.map(({ attempt }) => attempt);
}
