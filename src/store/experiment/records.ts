import type { Pool, PoolClient } from 'pg';
import type { ScoreRow } from '../../domain/experiment/record';
import type { ExperimentRecord, FrozenExperiment, RecordedCell, TakenLook } from '../../domain/experiment/record';
import { inTransaction } from '../database/pool';
import { withoutSingle } from './scores';
import { unknownExperiment } from './unknown-experiment';
import { sql } from '../database/sql';

export type StoredRecord = ExperimentRecord & { id: number };

/** An experiment as a report reads it: the frozen version in force, its cells, the long table. */
export const experimentRecordStore = (pool: Pool) => ({
  /**
   * Reads all parts in one snapshot, so that they agree while cells finish.
   *
   * @throws DomainError `UnknownExperiment`
   */
  async get(name: string): Promise<StoredRecord> {
    const client = await pool.connect();
    try {
      await client.query('begin isolation level repeatable read read only');
      const { id, ...frozen } = await getFrozen(client, name);
      return { id, ...frozen, cells: await listCells(client, id), scores: await listScores(client, id) };
    } finally {
      await client.query('rollback'); // nothing was written
      client.release();
    }
  },

  /** Lists every look that was taken, oldest first. */
  listLooks: (id: number): Promise<TakenLook[]> => listLooks(pool, id),

  /** Stores imported cells with their scores, all or none. */
  async saveImported(id: number, cells: readonly RecordedCell[], scores: readonly ScoreRow[]): Promise<void> {
    await inTransaction(pool, async (client) => {
      for (const cell of cells) {
        await insertCell(client, id, cell);
        await insertScores(client, id, scores.filter(({ arm, seed }) => arm === cell.arm && seed === cell.seed)); // oxfmt-ignore
      }
    });
  },
});

/** Lists every analysis that was stored; one at a look that no version declares, or of missing cells, shows no difference. */
async function listLooks(client: Pick<PoolClient, 'query'>, id: number): Promise<TakenLook[]> {
  const { rows } = await client.query<Omit<TakenLook, 'at'> & { at: Date }>(sql`
    select look, exploratory, input_hash as "inputHash", recorded_at as at,
      exists (select from experiment_versions v
        where v.experiment_id = a.experiment_id and v.resolved -> 'looks' @> to_jsonb(a.look))
      and jsonb_path_exists(output, '$.contrasts[*].differences[*]') as shown
    from experiment_analyses a where experiment_id = ${id}::integer order by recorded_at, input_hash`);
  return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
}

type FrozenRow = Omit<FrozenExperiment, 'frozenAt' | 'firstFrozenAt' | 'amendments' | 'looks'> & {
  id: number;
  frozenAt: Date;
  firstFrozenAt: Date;
};

async function getFrozen(client: PoolClient, name: string): Promise<FrozenExperiment & { id: number }> {
  const { rows } = await client.query<FrozenRow>(sql`
    select e.id, v.resolved as experiment, v.version, v.hash, v.frozen_at as "frozenAt",
        (select min(frozen_at) from experiment_versions where experiment_id = e.id) as "firstFrozenAt",
        v.profile, v.manifest,
        array(select o.name from experiments o
          join experiment_versions w on w.experiment_id = o.id and w.version = o.version
          where o.id <> e.id and w.resolved -> 'seed' = v.resolved -> 'seed' order by o.name collate "C") as "sharedSeed"
      from experiments e
      join experiment_versions v on v.experiment_id = e.id and v.version = e.version
     where e.name = ${name}::text`);
  const found = rows[0];
  if (!found) throw await unknownExperiment(client, name);
  const amendments = await client.query<{ version: number; frozenAt: Date; differences: unknown[] }>(sql`
    select version, frozen_at as "frozenAt", differences
      from experiment_versions where experiment_id = ${found.id}::integer and version > 1 order by version`);
  return {
    ...found,
    frozenAt: found.frozenAt.toISOString(),
    firstFrozenAt: found.firstFrozenAt.toISOString(),
    looks: await listLooks(client, found.id),
    amendments: amendments.rows.map((row) => ({ ...row, frozenAt: row.frozenAt.toISOString() })),
  };
}

/** A cell that still runs is missing, as far as an analysis is concerned. */
async function listCells(client: PoolClient, id: number): Promise<RecordedCell[]> {
  const { rows } = await client.query<RecordedCell>(sql`
    select arm, seed, campaign, version, exploratory, imported,
           case status when 'finished' then 'finished' else 'missing' end as status,
           case status when 'running' then 'it has not finished' else reason end as reason,
           content_hash as "contentHash", manifest, test_hash as "testHash",
           coalesce(leaked_tasks, 0) as "leakedTasks", coalesce(checkpoints, '[]') as checkpoints
      from experiment_cells where experiment_id = ${id}::integer order by seed, arm collate "C"`);
  return rows;
}

/** Scores of cells that still run are left out. */
async function listScores(client: PoolClient, id: number): Promise<ScoreRow[]> {
  const { rows } = await client.query<ScoreRow>(sql`
    select s.arm, s.seed, s.checkpoint, s.task, s.features, s.reward, s.success, s.attempts
      from experiment_scores s
      join experiment_cells c using (experiment_id, arm, seed)
     where s.experiment_id = ${id}::integer and c.status = 'finished'
     order by s.seed, s.arm collate "C", s.checkpoint, s.task collate "C"`);
  return rows.map(withoutSingle);
}

async function insertCell(client: PoolClient, id: number, cell: RecordedCell): Promise<void> {
  await client.query(sql`
    insert into experiment_cells (experiment_id, arm, seed, campaign, version, exploratory, imported, status,
      manifest,
                                  content_hash, test_hash, leaked_tasks, checkpoints, finished_at)
    values (${id}::integer, ${cell.arm}::text, ${cell.seed}::integer, ${cell.campaign}::text,
      ${cell.version}::integer, ${cell.exploratory}::boolean, true, 'finished',
      ${JSON.stringify(cell.manifest)}::jsonb,
            ${cell.contentHash}::text, ${cell.testHash}::text, ${cell.leakedTasks}::integer,
            ${JSON.stringify(cell.checkpoints)}::jsonb, now())`);
}

async function insertScores(client: PoolClient, id: number, scores: readonly ScoreRow[]): Promise<void> {
  await client.query(sql`
    insert into experiment_scores (experiment_id, arm, seed, checkpoint, task, features, reward, success, attempts)
    select ${id}::integer, arm, seed, checkpoint, task, features, reward, success, coalesce(attempts, 1)
      from jsonb_to_recordset(${JSON.stringify(scores)}::jsonb)
        as row (arm text, seed integer, checkpoint smallint, task text, features jsonb,
                reward double precision, success double precision, attempts smallint)`);
}
