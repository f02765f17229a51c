import type { Pool } from 'pg';
import { assertEpoch, type IterationKey } from '../database/epoch';

/** An attempt that is still to be played, by its id, with the hash of its content. */
export type OpenAttempt = { id: string; contentKey: string };

type Batch = IterationKey & { policyId: string };

/** Attempts that a campaign takes from others instead of playing them: equal content gives equal rows. */
export const reusedAttemptStore = (pool: Pool) => ({
  /**
   * Lists the other campaigns that may have attempts for this one: those with the policy, with `compute.reuse`, and
   * without lists of functions, whose rows an attempt refers to.
   */
  async listSources({ campaignId, policyId }: Batch): Promise<number[]> {
    const { rows } = await pool.query<{ id: number }>(
      `select c.id from policies p join campaigns c on c.id = p.campaign_id
       where p.id = $2 and c.id <> $1::integer and (c.spec #>> '{compute,reuse}')::boolean
         and not exists (select from function_lists f where f.campaign_id = c.id)
       order by c.id`,
      [campaignId, policyId],
    );
    return rows.map(({ id }) => id);
  },

  /**
   * Copies the scored attempts of the sources that have the id and the content of open attempts, with their turns, and
   * returns the ids of all that are stored then. An attempt that was stored meanwhile stays. Every column is copied but for
   * the few that name the copy: a column of a later migration needs no change here.
   *
   * @throws DomainError `StaleEpoch` when a later run owns the iteration
   */
  async take(batch: Batch, open: readonly OpenAttempt[], sources: readonly number[]): Promise<Set<string>> {
    const { campaignId, iteration, epoch } = batch;
    const { rows } = await pool.query<{ id: string }>(
      `with wanted as (
         select * from unnest($4::text[], $5::text[]) as w (id, content_key)
       ), source as (
         select distinct on (t.id) t as original
         from wanted w join trajectories t on t.id = w.id and t.content_key = w.content_key
         where t.campaign_id = any ($6::integer[]) and t.outcome = 'scored'
         order by t.id, t.found_from is not null, t.campaign_id
       ), stored as (
         insert into trajectories
         select copied.*
         from source s cross join iterations i
         cross join lateral jsonb_populate_record(s.original, jsonb_build_object('campaign_id', i.campaign_id,
           'epoch', i.epoch, 'found_from', coalesce((s.original).found_from, (s.original).campaign_id),
           'recorded_at', now())) as copied
         where i.campaign_id = $1::integer and i.number = $2::smallint and i.epoch = $3::integer
         for share of i
         on conflict do nothing
         returning campaign_id, id
       ), bodies as (
         insert into trajectory_turns
         select copied.*
         from stored
         join source s on (s.original).id = stored.id
         join trajectory_turns b on b.campaign_id = (s.original).campaign_id and b.trajectory_id = stored.id
         cross join lateral jsonb_populate_record(b, jsonb_build_object('campaign_id', stored.campaign_id)) as copied
         where b.campaign_id = any ($6::integer[])
       ), journal as (
         delete from turn_journal j using stored
         where j.campaign_id = $1::integer and j.trajectory_id = stored.id
       )
       select id from stored`,
      [campaignId, iteration, epoch, open.map(({ id }) => id), open.map(({ contentKey }) => contentKey), sources],
    );
    await assertEpoch(pool, batch);
    return new Set(rows.map(({ id }) => id));
  },
});

export type ReusedAttemptStore = ReturnType<typeof reusedAttemptStore>;
