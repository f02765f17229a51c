import type { Pool } from 'pg';
import { canonicalJson } from '../../domain/canonical-json';
import { DomainError } from '../../domain/errors';
import type { Experiment } from '../../domain/experiment/experiment';
import { sha256 } from '../../files/sha256';
import { inTransaction } from '../database/pool';
import type { ExperimentStatus } from './experiments';
import { unknownExperiment } from './unknown-experiment';
import { sql } from '../database/sql';

/** The version of an experiment that is in force. */
export type ExperimentVersion = {
  id: number;
  name: string;
  status: ExperimentStatus;
  version: number;
  resolved: Experiment;
  hash: string;
  source: string;
  profile: string | null;
  manifest: Record<string, unknown>;
  differences: readonly unknown[];
  frozenAt: Date;
};

export type NewVersion = Pick<ExperimentVersion, 'resolved' | 'hash' | 'source' | 'profile' | 'manifest'> & {
  /** Differences from the version in force. */
  differences: readonly unknown[];
};

const versionsOf = `select e.id, e.name, e.status, v.version, v.resolved, v.hash, v.source, v.profile, v.manifest,
    v.differences, v.frozen_at as "frozenAt"
  from experiments e join experiment_versions v on v.experiment_id = e.id
  where e.name = $1`;

export const experimentVersionStore = (pool: Pool) => ({
  /** Returns the version in force. */
  async find(name: string): Promise<ExperimentVersion | undefined> {
    const { rows } = await pool.query<ExperimentVersion>(`${versionsOf} and v.version = e.version`, [name]);
    return rows[0];
  },

  /** @throws DomainError `UnknownExperiment` */
  async get(name: string): Promise<ExperimentVersion> {
    const found = await this.find(name);
    if (found) return found;
    throw await unknownExperiment(pool, name);
  },

  /** Returns all versions, the first one first. */
  async list(name: string): Promise<ExperimentVersion[]> {
    const { rows } = await pool.query<ExperimentVersion>(`${versionsOf} order by v.version`, [name]);
    return rows;
  },

  /** Counts the cells that have begun, under any version. */
  async countCells(name: string): Promise<number> {
    const { rows } = await pool.query<{ count: number }>(sql`
      select count(*)::integer as count
      from experiment_cells c join experiments e on e.id = c.experiment_id where e.name = ${name}`);
    return rows[0]!.count;
  },

  /**
   * Returns what the database holds before a freeze: the hash of its last freeze, which names the one before it, and the
   * content hashes of all finished cells of other experiments. A file that is frozen later cannot claim them. An amendment
   * keeps its own cells.
   */
  async before(name: string): Promise<{ freeze: string | null; cells: string[] }> {
    const { rows } = await pool.query<{ last: unknown; cells: string[] }>(sql`
      select (select jsonb_build_object('name', e.name, 'hash', v.hash, 'frozenAt', v.frozen_at, 'manifest', v.manifest)
          from experiment_versions v join experiments e on e.id = v.experiment_id
          order by v.frozen_at desc, e.id desc, v.version desc limit 1) as last,
        array(select distinct c.content_hash from experiment_cells c join experiments e on e.id = c.experiment_id
          where c.content_hash is not null and e.name <> ${name} order by 1) as cells`);
    const { last, cells } = rows[0]!;
    return { freeze: last === null ? null : sha256(canonicalJson(last)), cells };
  },

  /** Stores a version and puts it in force. `before`: the version that it follows; another one in force is an error. */
  async save({ resolved, hash, source, profile, manifest, differences }: NewVersion, before: number): Promise<void> {
    await inTransaction(pool, async (client) => {
      await client.query('insert into experiments (name) values ($1) on conflict (name) do nothing', [resolved.name]);
      const { rows } = await client.query<{ id: number }>(sql`
        update experiments set version = ${before}::integer + 1
        where name = ${resolved.name} and coalesce(
          (select max(version) from experiment_versions where experiment_id = experiments.id), 0) = ${before}::integer
        returning id`);
      if (!rows[0])
        throw new DomainError('FrozenElsewhere', `${resolved.name} was frozen by another process; repeat the command`);
      await client.query(
        `insert into experiment_versions
           (experiment_id, version, resolved, hash, source, profile, manifest, differences)
         values ($1::integer, $2::integer, $3::jsonb, $4, $5, $6, $7::jsonb, $8::jsonb)`,
        [
          rows[0].id,
          before + 1,
          resolved,
          hash,
          source,
          profile,
          manifest,
          JSON.stringify(differences), // a list would become an array of Postgres
        ],
      );
    });
  },
});
