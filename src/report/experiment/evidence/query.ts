import type { Pool } from 'pg';
import type { AnalysisOutput } from '../../../domain/experiment/analysis';
import type { ExperimentRecord } from '../../../domain/experiment/record';
import type { ExperimentReport, FlippedTask, PoolCount } from '../base/report';
import { flippedTasks } from './flipped-tasks';

/** Reads what the long table lacks: pools of tasks, and the attempts behind tasks won and lost. */
export async function readEvidence(
  pool: Pool,
  record: ExperimentRecord,
  analysis: AnalysisOutput,
): Promise<Pick<ExperimentReport, 'pool' | 'flips'>> {
  return { pool: await listPool(pool, record, analysis.look), flips: await withAttempts(pool, record, analysis) };
}

/** Counts admitted train tasks by arm, iteration and the first feature of the breakdown. */
async function listPool(pool: Pool, { experiment, cells }: ExperimentRecord, look: number): Promise<PoolCount[]> {
  const feature = experiment.analysis.breakdown[0];
  if (feature === undefined) return [];
  const played = cells.filter(({ seed, status }) => seed <= look && status === 'finished');
  const { rows } = await pool.query<PoolCount>(
    `select cell.arm, t.created_iteration as iteration, coalesce(t.features ->> $3::text, 'none') as category,
            count(*)::integer as tasks
       from unnest($1::text[], $2::text[]) as cell (arm, campaign)
       join campaigns c on c.name = cell.campaign
       join tasks t on t.campaign_id = c.id and t.split = 'train' and t.verdict = 'admitted'
      group by 1, 2, 3 order by 1, 2, 3`,
    [played.map(({ arm }) => arm), played.map(({ campaign }) => campaign), feature],
  );
  return rows;
}

type Sought = { campaign: string; checkpoint: number; task: string };

async function withAttempts(pool: Pool, record: ExperimentRecord, analysis: AnalysisOutput): Promise<FlippedTask[]> {
  const flips = flippedTasks(record, analysis);
  const plus = await findAttempts(pool, flips.map((flip) => ({ ...flip.plus, task: flip.task }))); // prettier-ignore
  const minus = await findAttempts(pool, flips.map((flip) => ({ ...flip.minus, task: flip.task }))); // prettier-ignore
  return flips.map(({ contrast, seed, task, won }, i) => ({
    ...{ contrast, seed, task, won, plusAttempt: plus[i] ?? null, minusAttempt: minus[i] ?? null },
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
