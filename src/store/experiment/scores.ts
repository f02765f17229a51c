import type { ClientBase, Pool } from 'pg';
import type { CellName } from '../../domain/experiment/experiment';
import type { ScoreRow } from '../../domain/experiment/record';
import { sql } from '../database/sql';

type Queryable = Pick<ClientBase | Pool, 'query'>;

/** Scores of campaign $1 on the set `test`, of the policy that was active after each iteration, attempts averaged. */
const ofCampaign = `
  select a.checkpoint, k.content_key as task, k.features, avg(t.reward order by t.attempt) as reward,
    (count(*) filter (where t.reward >= 1))::float8 / count(*) as success, -- isSuccess
    count(*)::integer as attempts
  from (
    select i.number as checkpoint, (
      select p.candidate_id from promotions p
      where p.campaign_id = i.campaign_id and p.role = 'target' and p.decision = 'promote' and p.iteration <= i.number
      order by p.iteration desc limit 1) as policy_id
    from iterations i where i.campaign_id = $1::integer and i.finished_at is not null) a
  join trajectories t on t.campaign_id = $1::integer and t.policy_id = a.policy_id and t.iteration <= a.checkpoint
    and t.purpose = 'test' and t.outcome = 'scored'
  join tasks k on k.campaign_id = $1::integer and k.id = t.task_id and k.evaluation_set = 'test'
  group by a.checkpoint, k.content_key, k.features`;

/**
 * Copies the scores of a campaign into the long table, task by task. A policy that stayed active keeps its scores. A
 * repetition changes nothing.
 */
export async function insertScores(
  client: Queryable,
  experimentId: number,
  { arm, seed }: CellName,
  campaignId: number,
): Promise<void> {
  await client.query(
    `insert into experiment_scores (experiment_id, arm, seed, checkpoint, task, features, reward, success, attempts)
     select $2::integer, $3, $4::integer, checkpoint, task, features, reward, success, attempts from (${ofCampaign}) s
     on conflict do nothing`,
    [campaignId, experimentId, arm, seed],
  );
}

type CampaignScore = Omit<ScoreRow, keyof CellName>;

/** Lists the scores of a campaign as they would stand in the long table. */
export async function listCampaignScores(client: Queryable, campaignId: number): Promise<CampaignScore[]> {
  const { rows } = await client.query<CampaignScore>(ofCampaign, [campaignId]);
  return rows.map(withoutSingle);
}

/** Leaves out a single attempt, so that tables and hashes of rows without the column stay as they are. */
export const withoutSingle = <Row extends { attempts?: number | undefined }>({ attempts, ...row }: Row) =>
  (attempts === 1 ? row : { ...row, attempts }) as Row;

/** Returns the scores of a cell in the long table that differ from a campaign's, or that only one of both has. */
export async function countDifferingScores(
  client: Queryable,
  { experimentId, arm, seed }: CellName & { experimentId: number },
  campaignId: number,
): Promise<number> {
  const { rows } = await client.query<{ differing: number }>(
    `select count(*)::integer as differing
     from (${ofCampaign}) found full join (
       select checkpoint, task, reward, success, attempts from experiment_scores
       where experiment_id = $2::integer and arm = $3 and seed = $4::integer) stored using (checkpoint, task)
     where (found.reward, found.success, found.attempts)
       is distinct from (stored.reward, stored.success, stored.attempts)`,
    [campaignId, experimentId, arm, seed],
  );
  return rows[0]!.differing;
}

/** Returns the sha256 of the long table, in hex: equal rows give an equal hash, in any order of insertion. */
export async function scoresHash(client: Queryable, experimentId: number): Promise<string> {
  const { rows } = await client.query<{ hash: string }>(sql`
    select encode(sha256(coalesce(string_agg(digest, ''::bytea order by digest), ''::bytea)), 'hex') as hash
    from (select sha256(convert_to((to_jsonb(s) - 'experiment_id' - case attempts when 1 then 'attempts' else '' end)::text, 'UTF8')) as digest
      from experiment_scores s where experiment_id = ${experimentId}::integer) d`);
  return rows[0]!.hash;
}
