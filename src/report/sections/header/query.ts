import type pg from 'pg';
import { DomainError } from '../../../domain/base/errors';
import type { ForkOrigin } from '../../../domain/campaign/fork-origin';

export type CampaignHeader = ForkOrigin & {
  id: number;
  name: string;
  recipe: string;
  environment: string;
  spec: unknown; // resolved: every default written out
  specHash: string;
  seed: string; // a bigint, as text
  status: string;
  createdAt: Date;
  finishedAt: Date | null;
  nondeterminism: string[] | null; // why another run may give other rows; null: nobody asked
  iterations: number; // of them the supervised start is number 0
  confidence: number; // of the evaluations' intervals
  hardNegativeReward: number; // a failure of at least this reward is a hard negative
};

/** @throws DomainError `UnknownCampaign` when there is no such campaign. */
export async function getCampaignHeader(client: pg.ClientBase, campaignId: number): Promise<CampaignHeader> {
  const { rows } = await client.query<CampaignHeader>(
    `select c.id, c.name, c.recipe, c.environment, c.spec, c.spec_hash as "specHash", c.seed::text as seed, c.status,
            c.created_at as "createdAt", c.finished_at as "finishedAt",
            (select s.name from campaigns s where s.id = c.forked_from) as "forkedFrom",
            c.fork_iteration as "forkIteration", c.nondeterminism,
            (select count(*)::int from iterations i where i.campaign_id = c.id) as iterations,
            coalesce((c.spec #>> '{evaluation,confidence}')::float8, 0.95) as confidence,
            coalesce((c.spec #>> '{pairs,hardNegativeReward}')::float8, 0.6) as "hardNegativeReward"
       from campaigns c
      where c.id = $1::int`,
    [campaignId],
  );
  if (!rows[0]) throw new DomainError('UnknownCampaign', `there is no campaign with id ${campaignId}`);
  return rows[0];
}
