import type { ClientBase, Pool } from 'pg';
import type { CellName } from '../../domain/experiment/experiment';

type Queryable = Pick<ClientBase | Pool, 'query'>;

/**
 * Copies the scores of a campaign on the set `test` into the long table: of the policy that was active after each
 * iteration, task by task, attempts averaged. A policy that stayed active keeps its scores. A repetition changes nothing.
 */
export async function insertScores(
  client: Queryable,
  experimentId: number,
  { arm, seed }: CellName,
  campaignId: number,
): Promise<void> {
  await client.query(
    `with active as (
       select i.number as checkpoint, (
         select p.candidate_id from promotions p
         where p.campaign_id = i.campaign_id and p.role = 'target' and p.decision = 'promote' and p.iteration <= i.number
         order by p.iteration desc limit 1) as policy_id
       from iterations i where i.campaign_id = $4::integer and i.finished_at is not null)
     insert into experiment_scores (experiment_id, arm, seed, checkpoint, task, features, reward, success)
     select $1::integer, $2, $3::integer, a.checkpoint, k.content_key, k.features, avg(t.reward),
       (count(*) filter (where t.reward >= 1))::float8 / count(*) -- isSuccess
     from active a
     join trajectories t on t.campaign_id = $4::integer and t.policy_id = a.policy_id and t.iteration <= a.checkpoint
       and t.purpose = 'test' and t.outcome = 'scored'
     join tasks k on k.campaign_id = $4::integer and k.id = t.task_id and k.evaluation_set = 'test'
     group by a.checkpoint, k.content_key, k.features
     on conflict do nothing`,
    [experimentId, arm, seed, campaignId],
  );
}

/** Returns the sha256 of the long table, in hex: equal rows give an equal hash, in any order of insertion. */
export async function scoresHash(client: Queryable, experimentId: number): Promise<string> {
  const { rows } = await client.query<{ hash: string }>(
    `select encode(sha256(coalesce(string_agg(digest, ''::bytea order by digest), ''::bytea)), 'hex') as hash
     from (select sha256(convert_to((to_jsonb(s) - 'experiment_id')::text, 'UTF8')) as digest
       from experiment_scores s where experiment_id = $1::integer) d`,
    [experimentId],
  );
  return rows[0]!.hash;
}
