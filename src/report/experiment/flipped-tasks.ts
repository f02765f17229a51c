import type { Pool } from 'pg';
import type { AnalysisOutput } from '../../statistics/analysis-output';
import type { CellName } from '../../domain/experiment/experiment';
import type { ExperimentRecord } from '../../domain/experiment/record';
import { finalScores } from './final-scores';
import type { FlippedTask } from './report';

type Sought = { campaign: string; checkpoint: number; task: string };

/** Lists tasks won and lost with the attempts behind them, which the long table lacks. */
export async function readFlips(
  pool: Pool,
  record: ExperimentRecord,
  analysis: AnalysisOutput,
): Promise<FlippedTask[]> {
  const flips = flippedTasks(record, analysis);
  const plus = await findAttempts(pool, flips.map((flip) => ({ ...flip.plus, task: flip.task }))); // oxfmt-ignore
  const minus = await findAttempts(pool, flips.map((flip) => ({ ...flip.minus, task: flip.task }))); // oxfmt-ignore
  return flips.map(({ contrast, seed, task, won }, i) => ({
    contrast,
    seed,
    task,
    won,
    plusAttempt: plus[i] ?? null,
    minusAttempt: minus[i] ?? null,
  }));
}

/** Returns `<campaign>/<trajectory>` of the first attempt for each, or null if the campaign is not in this database. */
async function findAttempts(pool: Pool, sought: readonly Sought[]): Promise<(string | null)[]> {
  const { rows } = await pool.query<{ attempt: string | null }>(
    `select (select c.name || '/' || r.id
               from reporting.campaigns c
               join reporting.tasks t on t.campaign_id = c.id and t.content_key = sought.task and t.split = 'held-out'
               join reporting.attempts r on r.campaign_id = c.id and r.task_id = t.id and r.purpose = 'test'
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

type Side = { campaign: string; checkpoint: number };
type Flip = { contrast: string; seed: number; task: string; won: boolean; plus: Side; minus: Side };

/** Shown tasks that were won, and as many that were lost. */
const shownEach = 6;

/** Returns tasks of the primary contrast that one arm alone solved, in the order of seeds. None before a complete look. */
export function flippedTasks(record: ExperimentRecord, { look, wonAndLost }: AnalysisOutput): Flip[] {
  const { name: contrast, plus, minus } = record.experiment.analysis.primary;
  if (!wonAndLost.some((row) => row.contrast === contrast)) return [];
  const scores = finalScores(record, look);
  const key = ({ seed, task }: { seed: number; task: string }): string => `${seed}\n${task}`;
  const other = new Map(scores.filter(({ arm }) => arm === minus).map((row) => [key(row), row]));
  const campaign = ({ arm, seed }: CellName): string =>
    record.cells.find((cell) => cell.arm === arm && cell.seed === seed)!.campaign;
  const flips = scores.flatMap((row): Flip[] => {
    const against = other.get(key(row));
    if (row.arm !== plus || against === undefined || against.success === row.success) return [];
    const side = (each: typeof row): Side => ({ campaign: campaign(each), checkpoint: each.checkpoint });
    const won = row.success > against.success;
    return [{ contrast, seed: row.seed, task: row.task, won, plus: side(row), minus: side(against) }];
  });
  return [true, false].flatMap((won) => flips.filter((flip) => flip.won === won).slice(0, shownEach));
}
