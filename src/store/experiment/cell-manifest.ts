import type { ClientBase } from 'pg';
import type { ExcludedAttempts } from '../../domain/evaluation/exclusions';
import type { PlayedOn } from '../../domain/experiment/played-on';
import type { PoolCount } from '../../domain/experiment/record';
import type { ContentHash, ContentParts } from '../audit/content-hash';
import { listAdmitted, type AdmittedTasks } from '../tasks/matches';
import { sql } from '../database/sql';

/** Everything that identifies how a cell was played: enough to play it again and to see what differs. */
export type CellManifest = {
  /** Resolved spec of the campaign. */
  spec: Record<string, unknown>;
  specHash: string;
  seed: number;
  recipe: string;
  environment: string;
  contentHash: string;
  /** The parts of `contentHash`, which show where a repetition differs; a table of before lacks them. */
  parts?: ContentParts;
  testHash: string | null;
  /** Ids of the policies, which are hashes of their files, by iteration and role. */
  policies: { iteration: number; role: string; id: string }[];
  /** Hashes of the datasets by training job. */
  datasets: { iteration: number; role: string; method: string; sha256: string | null; seed: number }[];
  /** For arms that match the cell where its campaign is not in the database. */
  admitted: AdmittedTasks[];
  /** Tasks of the pool by the iteration that admitted them and the features of the breakdown. */
  pool: PoolCount[];
  /** Tasks from which each iteration made candidates, by the same features. */
  parents: PoolCount[];
  /** Attempts at `test` of all scored policies, and those of them without a score. */
  exclusions: ExcludedAttempts;
  nondeterminism: string[] | null;
  startedAt: string;
  finishedAt: string | null;
  /** A table of before lacks it. It is no part of `contentHash`. */
  playedOn?: PlayedOn;
};

type CellFacts = { manifest: CellManifest; testHash: string | null; leakedTasks: number };

/**
 * Reads the manifest of a campaign, the hash of its test tasks, and the number of them that are also train tasks.
 *
 * @param breakdown features of tasks by which the pool is counted
 */
export async function cellManifest(
  client: Pick<ClientBase, 'query'>,
  campaignId: number,
  content: ContentHash,
  breakdown: readonly string[],
): Promise<CellFacts> {
  const { rows } = await client.query<
    Omit<CellManifest, 'contentHash' | 'parts' | 'admitted'> & { leakedTasks: number }
  >(sql`
    select c.spec, c.spec_hash as "specHash", c.seed, c.recipe, c.environment, c.nondeterminism,
      c.created_at as "startedAt", c.finished_at as "finishedAt",
      (select encode(sha256(convert_to(string_agg(content_key, E'\\n' order by content_key collate "C"), 'UTF8')),
      'hex')
        from tasks where campaign_id = c.id and evaluation_set = 'test') as "testHash",
      (select count(*)::integer from tasks h where h.campaign_id = c.id and h.evaluation_set = 'test'
        and exists (select from tasks t where t.campaign_id = c.id and t.content_key = h.content_key
          and t.split = 'train' and t.verdict = 'admitted')) as "leakedTasks",
      (select coalesce(jsonb_agg(jsonb_build_object('iteration', iteration, 'role', role, 'id', id)
          order by iteration, role, id collate "C"), '[]') from policies where campaign_id = c.id) as policies,
      (select coalesce(jsonb_agg(jsonb_build_object('iteration', iteration, 'role', role, 'method', method,
          'sha256', dataset_sha256, 'seed', seed) order by iteration, role), '[]')
        from training_runs where campaign_id = c.id) as datasets,
      (select coalesce(jsonb_agg(to_jsonb(p) order by iteration, feature, category collate "C"), '[]') from (
          select created_iteration as iteration, feature, coalesce(features ->> feature, 'none') as category,
            count(*)::integer as tasks
          from tasks, unnest(${breakdown}::text[]) as feature
          where campaign_id = c.id and split = 'train' and verdict = 'admitted' group by 1, 2, 3) p) as pool,
      (select coalesce(jsonb_agg(to_jsonb(p) order by iteration, feature, category collate "C"), '[]') from (
          select made.iteration, feature, coalesce(parent.features ->> feature, 'none') as category,
            count(*)::integer as tasks
          from (select distinct created_iteration as iteration, parent_task_id as id from tasks
              where campaign_id = c.id and created_iteration > 0 and parent_task_id is not null) made
            join tasks parent on parent.campaign_id = c.id and parent.id = made.id,
            unnest(${breakdown}::text[]) as feature group by 1, 2, 3) p) as parents,
      (select jsonb_build_object('attempts', count(*), 'excluded', count(*) filter (where t.outcome <> 'scored'))
        from trajectories t join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
        where t.campaign_id = c.id and t.purpose = 'test' and k.evaluation_set = 'test') as exclusions
    from campaigns c where c.id = ${campaignId}::integer`);
  const { leakedTasks, ...facts } = rows[0]!;
  const admitted = await listAdmitted(client, campaignId);
  const manifest = { ...facts, contentHash: content.hash, parts: content.parts, admitted };
  return { manifest, testHash: facts.testHash, leakedTasks };
}
