import type { Pool } from 'pg';
import type { CellName } from '../../domain/experiment/experiment';
import type { PlayedOn } from '../../domain/experiment/played-on';
import { contentHash } from '../audit/content-hash';
import { inTransaction } from '../database/pool';
import type { CampaignStatus } from '../campaign/campaigns';
import { cellManifest, type CellManifest } from './cell-manifest';
import { effortOf, type StoredEffort } from './effort';
import { insertScores } from './scores';
import { raw, sql } from '../database/sql';

export type CellRow = CellName & {
  experimentId: number;
  /** Name of its campaign. */
  campaign: string;
  version: number;
  /** It began before the experiment was frozen, or its arm was added later. */
  exploratory: boolean;
  imported: boolean;
  status: 'running' | 'finished' | 'missing';
  /** Why it is missing. */
  reason: string | null;
  manifest: CellManifest | null;
  contentHash: string | null;
  testHash: string | null;
  leakedTasks: number | null;
  checkpoints: StoredEffort[] | null;
  startedAt: Date;
  finishedAt: Date | null;
  /** Status of its campaign, if the database has the campaign. */
  campaignStatus: CampaignStatus | null;
};

type NewCell = CellName & { experimentId: number; campaign: string };

const select = `
  select x.experiment_id as "experimentId", x.arm, x.seed, x.campaign, x.version, x.exploratory, x.imported, x.status,
    x.reason, x.manifest, x.content_hash as "contentHash", x.test_hash as "testHash", x.leaked_tasks as "leakedTasks",
    x.checkpoints, x.started_at as "startedAt", x.finished_at as "finishedAt", c.status as "campaignStatus"
  from experiment_cells x left join campaigns c on c.name = x.campaign`;

export const experimentCellStore = (pool: Pool) => ({
  async find(experimentId: number, { arm, seed }: CellName): Promise<CellRow | undefined> {
    const { rows } = await pool.query<CellRow>(sql`
      ${raw(select)} where x.experiment_id = ${experimentId}::integer and x.arm = ${arm} and x.seed = ${seed}::integer`);
    return rows[0];
  },

  /** Lists the cells of an experiment in the order of their start. */
  async list(experimentId: number): Promise<CellRow[]> {
    const { rows } = await pool.query<CellRow>(sql`
      ${raw(select)} where x.experiment_id = ${experimentId}::integer order by x.seed, x.started_at, x.arm collate "C"`);
    return rows;
  },

  async findByCampaign(campaign: string): Promise<CellRow | undefined> {
    const { rows } = await pool.query<CellRow>(sql`${raw(select)} where x.campaign = ${campaign}`);
    return rows[0];
  },

  /**
   * Stores a cell when its campaign has been stored; a stored one is kept, and a missing one is played again if its
   * campaign was deleted since. A cell is exploratory if its campaign began before the experiment was frozen first, or if
   * its arm is not in the first frozen version.
   */
  async open({ experimentId, arm, seed, campaign }: NewCell): Promise<void> {
    await pool.query(sql`
      insert into experiment_cells (experiment_id, arm, seed, campaign, version, exploratory, started_at)
      select e.id, ${arm}, ${seed}::integer, ${campaign}, e.version,
        c.created_at < v.frozen_at or not jsonb_path_exists(v.resolved, '$.arms[*] ? (@.name == $arm)',
        jsonb_build_object('arm', ${arm}::text)), c.created_at
      from experiments e
      join experiment_versions v on v.experiment_id = e.id and v.version = 1
      join campaigns c on c.name = ${campaign}
      where e.id = ${experimentId}::integer
      on conflict (experiment_id, arm, seed) do update
      set status = 'running', reason = null, finished_at = null, started_at = excluded.started_at,
        version = excluded.version, exploratory = excluded.exploratory
      where experiment_cells.status = 'missing' and excluded.started_at > experiment_cells.finished_at`);
  },

  /** Records why a cell has no result; a finished cell stays finished. */
  async markMissing({ experimentId, arm, seed, campaign }: NewCell, reason: string): Promise<void> {
    await pool.query(sql`
      insert into experiment_cells (experiment_id, arm, seed, campaign, version, status, reason, finished_at)
      select id, ${arm}, ${seed}::integer, ${campaign}, version, 'missing', ${reason}, now() from experiments
        where id = ${experimentId}::integer
      on conflict (experiment_id, arm, seed) do update
      set status = 'missing', reason = excluded.reason, finished_at = excluded.finished_at
      where experiment_cells.status = 'running'`);
  },

  /** Stores the result of a finished campaign, its rows of the long table among it, in one transaction and once. */
  finish: (cell: Omit<NewCell, 'campaign'>, campaignId: number, playedOn: PlayedOn): Promise<void> =>
    inTransaction(pool, async (client) => {
      const { experimentId, arm, seed } = cell;
      const { rows } = await client.query<{ breakdown: string[] }>(sql`
        select v.resolved -> 'analysis' -> 'breakdown' as breakdown
        from experiment_cells x join experiment_versions v using (experiment_id, version)
        where experiment_id = ${experimentId}::integer and arm = ${arm} and seed = ${seed}::integer
          and status = 'running' for update of x`);
      if (rows[0] === undefined) return;
      await insertScores(client, experimentId, cell, campaignId);
      const content = await contentHash(client, campaignId);
      const facts = await cellManifest(client, campaignId, content, rows[0].breakdown);
      const manifest: CellManifest = { ...facts.manifest, playedOn };
      await client.query(sql`
        update experiment_cells
        set status = 'finished', finished_at = now(), content_hash = ${content.hash}, manifest = ${manifest}::jsonb,
          test_hash = ${facts.testHash}, leaked_tasks = ${facts.leakedTasks}::integer,
          checkpoints = ${JSON.stringify(await effortOf(client, campaignId))}::jsonb
        where experiment_id = ${experimentId}::integer and arm = ${arm} and seed = ${seed}::integer`);
    }),

  /** Returns what the cells of an experiment have cost so far: dollars, and seconds of their phases. */
  async getSpent(experimentId: number): Promise<{ usd: number; seconds: number }> {
    const { rows } = await pool.query<{ usd: number; seconds: number }>(sql`
      with ids as (
        select c.id from experiment_cells x join campaigns c on c.name = x.campaign
        where x.experiment_id = ${experimentId}::integer and not x.imported)
      select coalesce((select sum(amount) from ledger
          where campaign_id in (select id from ids) and entry = 'settle' and unit = 'usd'), 0)::float8 as usd,
        coalesce((select extract(epoch from sum(coalesce(finished_at, now()) - started_at)) from phases
          where campaign_id in (select id from ids)), 0)::float8 as seconds`);
    return rows[0]!;
  },
});

export type ExperimentCellStore = ReturnType<typeof experimentCellStore>;
