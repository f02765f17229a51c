import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import type { Experiment } from '../../domain/experiment/experiment';
import { unknownExperiment } from './unknown-experiment';
import { raw, sql } from '../database/sql';

export type ExperimentStatus = 'frozen' | 'running' | 'paused' | 'finished' | 'stopped';

/** Whether a workflow plays the experiment, or should. */
export const isUnderway = ({ status }: { status: string }): boolean => status === 'running' || status === 'paused';

/** An experiment with its frozen version in force. */
export type ExperimentRow = {
  id: number;
  name: string;
  status: ExperimentStatus;
  version: number;
  hash: string;
  resolved: Experiment;
  frozenAt: Date;
  /** Seeds of each arm that are played; null before the start. */
  seeds: number | null;
  /** Arms of which no further cell starts. */
  stopped: string[];
  reason: string | null;
  /** Number of the last stored change. */
  revision: number;
  createdAt: Date;
  finishedAt: Date | null;
};

/** A change of an experiment's state; `revision` orders the changes. */
export type ExperimentChange = Pick<ExperimentRow, 'status' | 'stopped' | 'reason' | 'revision'>;

const select = `
  select e.id, e.name, e.status, e.version, v.hash, v.resolved, v.frozen_at as "frozenAt", e.seeds, e.stopped, e.reason,
    e.revision, e.created_at as "createdAt", e.finished_at as "finishedAt"
  from experiments e
  join experiment_versions v on v.experiment_id = e.id and v.version = e.version`;

export const experimentStore = (pool: Pool) => ({
  async find(name: string): Promise<ExperimentRow | undefined> {
    const { rows } = await pool.query<ExperimentRow>(sql`${raw(select)} where e.name = ${name}`);
    return rows[0];
  },

  /** @throws DomainError `UnknownExperiment` */
  async getByName(name: string): Promise<ExperimentRow> {
    const row = await this.find(name);
    if (row) return row;
    throw await unknownExperiment(pool, name);
  },

  /** @throws DomainError `UnknownExperiment` */
  async get(id: number): Promise<ExperimentRow> {
    const { rows } = await pool.query<ExperimentRow>(sql`${raw(select)} where e.id = ${id}::integer`);
    if (!rows[0]) throw new DomainError('UnknownExperiment', `no experiment has the id ${id}`);
    return rows[0];
  },

  async list(): Promise<ExperimentRow[]> {
    const { rows } = await pool.query<ExperimentRow>(`${select} order by e.id`);
    return rows;
  },

  /** Begins an experiment, or begins it again after its end, with this number of seeds. */
  async begin(id: number, seeds: number): Promise<ExperimentRow> {
    await pool.query(sql`
      update experiments
      set status = 'running', seeds = ${seeds}::integer, stopped = '{}', reason = null, finished_at = null,
        revision = revision + 1
      where id = ${id}::integer`);
    return this.get(id);
  },

  /** Stores that more seeds are to be played than an experiment began with. */
  async extend(id: number, seeds: number): Promise<void> {
    await pool.query('update experiments set seeds = $2::integer where id = $1::integer and seeds < $2::integer', [
      id,
      seeds,
    ]);
  },

  /** Stores a change once; a later change is kept. */
  async record(id: number, { status, stopped, reason, revision }: ExperimentChange): Promise<void> {
    await pool.query(sql`
      update experiments
      set status = ${status}, stopped = ${stopped}::text[], reason = ${reason}, revision = ${revision}::integer,
        finished_at = case when ${status} in ('finished', 'stopped') then now() end
      where id = ${id}::integer and revision < ${revision}::integer`);
  },
});

export type ExperimentStore = ReturnType<typeof experimentStore>;
