import type { Pool } from 'pg';
import { didYouMean } from '../../input/did-you-mean';
import { DomainError } from '../../domain/errors';
import type { ForkOrigin } from '../../domain/campaign/fork-origin';
import type { CampaignState } from '../../domain/campaign/progress';
import { nameTaken } from '../../specification/read-spec';
import { reserveCampaign, whileCreating } from '../database/partitions';
import { inTransaction } from '../database/pool';
import { rebuildState } from './rebuild-state';
import { raw, sql } from '../database/sql';

export type CampaignStatus = 'running' | 'paused' | 'parked' | 'finished' | 'stopped' | 'aborted';

/** Returns whether a status is final. */
export const hasEnded = (status: string): boolean => ['finished', 'stopped', 'aborted'].includes(status);

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
  /** Reasons why a repetition can give other rows (src/specification/nondeterminism.ts). Older versions stored null. */
  nondeterminism: string[] | null;
} & ForkOrigin;

type NewCampaign = Pick<CampaignRow, 'name' | 'recipe' | 'environment' | 'spec' | 'specHash' | 'seed'>;

const columns = `id, name, recipe, environment, spec, spec_hash as "specHash", seed, status,
  created_at as "createdAt", finished_at as "finishedAt",
  (select source.name from campaigns source where source.id = campaigns.forked_from) as "forkedFrom",
  fork_iteration as "forkIteration", nondeterminism`;

export const campaignStore = (pool: Pool) => ({
  /**
   * Stores a campaign and creates its partitions. A second call with the same name and spec returns the stored row.
   *
   * @throws DomainError `CampaignExists` when the name is taken by another spec
   */
  async save(campaign: NewCampaign): Promise<CampaignRow> {
    return (await create(pool, campaign)) ?? this.join(campaign);
  },

  /** Adds reasons why a repetition can give other rows, each once. */
  async addNondeterminism(id: number, reasons: readonly string[]): Promise<void> {
    await pool.query(sql`
      update campaigns
      set nondeterminism = array(select distinct reason from unnest(coalesce(nondeterminism,
        '{}') || ${reasons}::text[]) as reason order by reason)
      where id = ${id}::integer`);
  },

  async join(campaign: NewCampaign): Promise<CampaignRow> {
    const existing = await this.getByName(campaign.name);
    if (existing.specHash === campaign.specHash) return existing;
    throw nameTaken(existing, campaign.spec);
  },

  async find(name: string): Promise<CampaignRow | undefined> {
    const { rows } = await pool.query<CampaignRow>(sql`select ${raw(columns)} from campaigns where name = ${name}`);
    return rows[0];
  },

  /** @throws DomainError `UnknownCampaign` */
  async getByName(name: string): Promise<CampaignRow> {
    const row = await this.find(name);
    if (row) return row;
    const { rows } = await pool.query<{ name: string }>('select name from campaigns order by id desc limit 1000');
    const similar = didYouMean(
      name,
      rows.map((campaign) => campaign.name),
    );
    throw new DomainError('UnknownCampaign', `no campaign is named "${name}"; see \`coevolve list\`${similar}`);
  },

  /** @throws DomainError `UnknownCampaign` */
  async get<Spec>(id: number): Promise<CampaignRow<Spec>> {
    const { rows } = await pool.query<CampaignRow<Spec>>(sql`
      select ${raw(columns)} from campaigns where id = ${id}::integer`);
    const row = rows[0];
    if (!row) throw new DomainError('UnknownCampaign', `no campaign has the id ${id}`);
    return row;
  },

  /** Returns all campaigns in the order of their start. */
  async list(): Promise<CampaignRow[]> {
    const { rows } = await pool.query<CampaignRow>(`select ${columns} from campaigns order by id`);
    return rows;
  },

  /** Returns the state of a campaign's workflow from its rows, see `rebuildState`. */
  rebuild: (id: number): Promise<CampaignState> => rebuildState(pool, id),

  /** Runs `work` under the campaign's lock; a second caller waits for the first. */
  withLock: <T>(id: number, work: () => Promise<T>): Promise<T> =>
    inTransaction(pool, async (client) => {
      await client.query(sql`select pg_advisory_xact_lock(hashtextextended('campaign/' || ${id}::integer, 0))`);
      return work();
    }),

  /**
   * Sets the status. A final status deletes the journal of open attempts, and no later call makes the campaign run
   * again.
   */
  async setStatus(id: number, status: CampaignStatus): Promise<void> {
    await pool.query(sql`
      with ended as (
        delete from turn_journal where campaign_id = ${id}::integer and ${status} in ('finished', 'stopped',
          'aborted'))
      update campaigns
      set status = ${status}, finished_at = case when ${status} in ('finished', 'stopped', 'aborted') then now() end
      where id = ${id}::integer and (finished_at is null or ${status} in ('finished', 'stopped', 'aborted'))`);
  },

  /** Appends an event with its actor to the log; an event with a key is stored once. Returns whether it is new. */
  async recordEvent(id: number, event: CampaignEvent): Promise<boolean> {
    const { rowCount } = await pool.query(sql`
      insert into events (campaign_id, iteration, kind, actor, detail, key)
      values (${id}::integer, ${event.iteration ?? null}::smallint, ${event.kind}, ${event.actor},
        ${event.detail ?? {}}::jsonb, ${event.key ?? null})
      on conflict do nothing`);
    return rowCount === 1;
  },
});

/** Returns undefined when the name is taken. */
const create = (pool: Pool, campaign: NewCampaign): Promise<CampaignRow | undefined> =>
  whileCreating(pool, campaign.name, async (client) => {
    const { rowCount } = await client.query('select from campaigns where name = $1', [campaign.name]);
    if (rowCount) return undefined;
    const id = await reserveCampaign(client);
    const { rows } = await client.query<CampaignRow>(sql`
      insert into campaigns (id, name, recipe, environment, spec, spec_hash, seed)
      overriding system value
      values (${id}::integer, ${campaign.name}, ${campaign.recipe}, ${campaign.environment}, ${campaign.spec}::jsonb,
        ${campaign.specHash}, ${campaign.seed}::bigint)
      on conflict (name) do nothing
      returning ${raw(columns)}`);
    return rows[0];
  });

export type CampaignEvent = {
  iteration?: number;
  kind: string;
  actor: string;
  detail?: Record<string, unknown>;
  /** Unique in the campaign. Without a key every call appends a row. */
  key?: string;
};

export type CampaignStore = ReturnType<typeof campaignStore>;
