import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { DomainError } from '../domain/errors';
import { inTransaction } from './pool';

export type CampaignStatus = 'running' | 'paused' | 'parked' | 'finished' | 'stopped' | 'aborted';

/** Nothing moves a campaign of these any more. */
export const hasEnded = (status: CampaignStatus): boolean => ['finished', 'stopped', 'aborted'].includes(status);

/** `spec` is the resolved spec as stored; the caller knows its type. */
export type CampaignRow<Spec = unknown> = {
  id: number;
  name: string;
  recipe: string;
  environment: string;
  spec: Spec;
  specHash: string;
  seed: number;
  status: CampaignStatus;
  createdAt: Date;
  finishedAt: Date | null;
};

type NewCampaign = Pick<CampaignRow, 'name' | 'recipe' | 'environment' | 'spec' | 'specHash' | 'seed'>;

const columns = `id, name, recipe, environment, spec, spec_hash as "specHash", seed, status,
  created_at as "createdAt", finished_at as "finishedAt"`;

/** The tables that grow with attempts; each campaign has a partition of its own in every one. */
const partitionedTables = [
  'tasks',
  'planned_tasks',
  'trajectories',
  'trajectory_steps',
  'attempt_turns',
  'feedback_signals',
  'preference_pairs',
  'training_examples',
  'model_calls',
  'exploration_steps',
] as const;

export const campaignStore = (pool: Pool) => ({
  /**
   * Stores a campaign and makes its partitions. The same spec under the same name again gives the stored row.
   *
   * @throws DomainError `CampaignExists` when the name is taken by another spec
   */
  async save(campaign: NewCampaign): Promise<CampaignRow> {
    return (await create(pool, campaign)) ?? this.join(campaign);
  },

  async join(campaign: NewCampaign): Promise<CampaignRow> {
    const existing = await this.getByName(campaign.name);
    if (existing.specHash === campaign.specHash) return existing;
    throw new DomainError(
      'CampaignExists',
      `name: "${campaign.name}" is taken by a campaign with another spec; choose another name`,
    );
  },

  async find(name: string): Promise<CampaignRow | undefined> {
    const { rows } = await pool.query<CampaignRow>(`select ${columns} from campaigns where name = $1`, [name]);
    return rows[0];
  },

  /** @throws DomainError `UnknownCampaign` */
  async getByName(name: string): Promise<CampaignRow> {
    const row = await this.find(name);
    if (row) return row;
    throw new DomainError('UnknownCampaign', `no campaign is named "${name}"; see \`coevolve list\``);
  },

  /** @throws DomainError `UnknownCampaign` */
  async get<Spec>(id: number): Promise<CampaignRow<Spec>> {
    const { rows } = await pool.query<CampaignRow<Spec>>(`select ${columns} from campaigns where id = $1::integer`, [
      id,
    ]);
    const row = rows[0];
    if (!row) throw new DomainError('UnknownCampaign', `no campaign has the id ${id}`);
    return row;
  },

  async list(): Promise<CampaignRow[]> {
    const { rows } = await pool.query<CampaignRow>(`select ${columns} from campaigns order by id`);
    return rows;
  },

  /** Of a campaign that has ended, nobody plays an open attempt on. */
  async setStatus(id: number, status: CampaignStatus): Promise<void> {
    await pool.query(
      `with ended as (
         delete from attempt_turns where campaign_id = $1::integer and $2 in ('finished', 'stopped', 'aborted'))
       update campaigns
       set status = $2, finished_at = case when $2 in ('finished', 'stopped', 'aborted') then now() end
       where id = $1::integer`,
      [id, status],
    );
  },

  /** Appends to the log of who did what. */
  async recordEvent(id: number, event: CampaignEvent): Promise<void> {
    await pool.query(
      `insert into events (campaign_id, iteration, kind, actor, detail)
       values ($1::integer, $2::smallint, $3, $4, $5::jsonb)`,
      [id, event.iteration ?? null, event.kind, event.actor, event.detail ?? {}],
    );
  },
});

/** Postgres's code for a lock that was not free within `lock_timeout`. */
const lockNotAvailable = '55P03';
const creationLimitMs = 60_000;

/**
 * undefined when the name is taken. A new partition locks its parents, which a worker that stores rows locks in another
 * order: whoever waits longest for a lock is in a deadlock after 1 s. A creation gives way well before that, so that no
 * worker ever has to, and tries again.
 */
async function create(pool: Pool, campaign: NewCampaign): Promise<CampaignRow | undefined> {
  for (const deadline = Date.now() + creationLimitMs; ;) {
    try {
      return await tryCreate(pool, campaign);
    } catch (error) {
      if ((error as { code?: unknown }).code !== lockNotAvailable || Date.now() > deadline) throw error;
      await sleep(20 + Math.random() * 80);
    }
  }
}

const tryCreate = (pool: Pool, campaign: NewCampaign): Promise<CampaignRow | undefined> =>
  inTransaction(pool, async (client) => {
    await client.query(`select pg_advisory_xact_lock(hashtextextended('campaigns', 0))`); // one creation at a time
    const { rows } = await client.query<CampaignRow>(
      `insert into campaigns (name, recipe, environment, spec, spec_hash, seed)
       values ($1, $2, $3, $4::jsonb, $5, $6::bigint)
       on conflict (name) do nothing
       returning ${columns}`,
      [campaign.name, campaign.recipe, campaign.environment, campaign.spec, campaign.specHash, campaign.seed],
    );
    const created = rows[0];
    if (!created) return undefined;
    await client.query(`set local lock_timeout = '50ms'`);
    await client.query(`lock table only ${partitionedTables.join(', only ')} in access exclusive mode`);
    for (const table of partitionedTables) {
      // The id is a generated integer: the one value that SQL cannot bind.
      await client.query(`create table ${table}_${created.id} partition of ${table} for values in (${created.id})`);
    }
    return created;
  });

export type CampaignEvent = {
  iteration?: number;
  kind: string;
  actor: string;
  detail?: Record<string, unknown>;
};

export type CampaignStore = ReturnType<typeof campaignStore>;
