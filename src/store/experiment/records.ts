import type { Pool, PoolClient } from 'pg';
import type { ScoreRow } from '../../domain/experiment/record';
import type { ExperimentRecord, FrozenExperiment, RecordedCell } from '../../domain/experiment/record';
import { inTransaction } from '../database/pool';
import { unknownExperiment } from './unknown-experiment';

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

  /** Lists every analysis that was stored, oldest first: the looks that were taken. */
  async listLooks(id: number): Promise<{ look: number; exploratory: boolean; inputHash: string; at: string }[]> {
    const { rows } = await pool.query<{ look: number; exploratory: boolean; inputHash: string; at: Date }>(
      `select look, exploratory, input_hash as "inputHash", recorded_at as at
         from experiment_analyses where experiment_id = $1::integer order by recorded_at, input_hash`,
      [id],
    );
    return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
  },

  /** Stores imported cells with their scores, all or none. */
  async saveImported(id: number, cells: readonly RecordedCell[], scores: readonly ScoreRow[]): Promise<void> {
    await inTransaction(pool, async (client) => {
      for (const cell of cells) {
        await insertCell(client, id, cell);
        await insertScores(client, id, scores.filter(({ arm, seed }) => arm === cell.arm && seed === cell.seed)); // prettier-ignore
      }
    });
  },
});

type FrozenRow = Omit<FrozenExperiment, 'frozenAt' | 'amendments'> & { id: number; frozenAt: Date };

async function getFrozen(client: PoolClient, name: string): Promise<FrozenExperiment & { id: number }> {
  const { rows } = await client.query<FrozenRow>(
    `select e.id, v.resolved as experiment, v.version, v.hash, v.frozen_at as "frozenAt", v.profile, v.manifest
       from experiments e
       join experiment_versions v on v.experiment_id = e.id and v.version = e.version
      where e.name = $1::text`,
    [name],
  );
  const found = rows[0];
  if (!found) throw await unknownExperiment(client, name);
  const amendments = await client.query<{ version: number; frozenAt: Date; differences: unknown[] }>(
    `select version, frozen_at as "frozenAt", differences
       from experiment_versions where experiment_id = $1::integer and version > 1 order by version`,
    [found.id],
  );
  return {
    ...found,
    frozenAt: found.frozenAt.toISOString(),
    amendments: amendments.rows.map((row) => ({ ...row, frozenAt: row.frozenAt.toISOString() })),
  };
}

/** A cell that still runs is missing, as far as an analysis is concerned. */
async function listCells(client: PoolClient, id: number): Promise<RecordedCell[]> {
  const { rows } = await client.query<RecordedCell>(
    `select arm, seed, campaign, version, exploratory, imported,
            case status when 'finished' then 'finished' else 'missing' end as status,
            case status when 'running' then 'it has not finished' else reason end as reason,
            content_hash as "contentHash", manifest, test_hash as "testHash",
            coalesce(leaked_tasks, 0) as "leakedTasks", coalesce(checkpoints, '[]') as checkpoints
       from experiment_cells where experiment_id = $1::integer order by seed, arm collate "C"`,
    [id],
  );
  return rows;
}

/** Scores of cells that still run are left out. */
async function listScores(client: PoolClient, id: number): Promise<ScoreRow[]> {
  const { rows } = await client.query<ScoreRow>(
    `select s.arm, s.seed, s.checkpoint, s.task, s.features, s.reward, s.success
       from experiment_scores s
       join experiment_cells c using (experiment_id, arm, seed)
      where s.experiment_id = $1::integer and c.status = 'finished'
      order by s.seed, s.arm collate "C", s.checkpoint, s.task collate "C"`,
    [id],
  );
  return rows;
}

async function insertCell(client: PoolClient, id: number, cell: RecordedCell): Promise<void> {
  await client.query(
    `insert into experiment_cells (experiment_id, arm, seed, campaign, version, exploratory, imported, status, manifest,
                                   content_hash, test_hash, leaked_tasks, checkpoints, finished_at)
     values ($1::integer, $2::text, $3::integer, $4::text, $5::integer, $6::boolean, true, 'finished', $7::jsonb,
             $8::text, $9::text, $10::integer, $11::jsonb, now())`,
    [
      id,
      cell.arm,
      cell.seed,
      cell.campaign,
      cell.version,
      cell.exploratory,
      JSON.stringify(cell.manifest),
      cell.contentHash,
      cell.testHash,
      cell.leakedTasks,
      JSON.stringify(cell.checkpoints),
    ],
  );
}

async function insertScores(client: PoolClient, id: number, scores: readonly ScoreRow[]): Promise<void> {
  await client.query(
    `insert into experiment_scores (experiment_id, arm, seed, checkpoint, task, features, reward, success)
     select $1::integer, arm, seed, checkpoint, task, features, reward, success
       from jsonb_to_recordset($2::jsonb)
         as row (arm text, seed integer, checkpoint smallint, task text, features jsonb,
                 reward double precision, success double precision)`,
    [id, JSON.stringify(scores)],
  );
}
