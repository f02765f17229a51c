import type { ClientBase, Pool } from 'pg';
import { aimOfTask } from '../../domain/campaign/ids';
import { groupBy } from '../../domain/group-by';
import { actionPatterns } from '../../domain/signals/action-pattern';
import { enrichmentOf, type Enrichment } from '../../domain/signals/enrichment';
import { feedbackSignalKinds, type FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import { sql } from '../database/sql';

export type EnrichmentRow = Enrichment & { iteration: number; kind: FeedbackSignalKind; flagged: number };

/** `pattern`: feature of a generated task. What a composed task asks for is in its reference actions alone. */
type Clustered = { id: string; pattern: string | null; actions: string[] | null };
type PlayedRow = Clustered & { kinds: string[] };
type CandidateRow = Clustered & {
  parentId: string | null;
  flaggedId: string | null;
  isAdmitted: boolean;
  isVariant: boolean;
};

/**
 * Lists the enrichment of every signal with candidates, by iteration and kind. The cluster of a task is its
 * generator's pattern, or beside composed tasks the set of the action names of its solution.
 *
 * @param iteration all of the campaign by default
 */
export async function listEnrichments(
  client: Pool | ClientBase,
  campaignId: number,
  iteration: number | null = null,
): Promise<EnrichmentRow[]> {
  const { rows } = await client.query<{
    iteration: number;
    played: PlayedRow[] | null;
    candidates: CandidateRow[];
  }>(sql`
    with made as (
      select t.created_iteration as iteration, t.id, t.parent_task_id as "parentId", s.task_id as "flaggedId",
        t.verdict = 'admitted' as "isAdmitted", t.relation is not null as "isVariant", t.features, t.reference_actions
      from tasks t left join feedback_signals s on s.campaign_id = t.campaign_id and s.id = t.parent_signal_id
      where t.campaign_id = ${campaignId}::integer and t.created_iteration > 0
        and (${iteration}::smallint is null or t.created_iteration = ${iteration}::smallint) and t.origin = 'synthesized'
    ), played as (
      select distinct g.iteration, g.task_id as id from attempt_groups g
      where g.campaign_id = ${campaignId}::integer and g.iteration in (select iteration from made)
    ), flags as (
      select f.iteration, f.task_id, json_agg(distinct f.kind) as kinds from feedback_signals f
      where f.campaign_id = ${campaignId}::integer and f.iteration in (select iteration from made)
      group by f.iteration, f.task_id
    )
    select m.iteration,
      (select json_agg(json_build_object('id', p.id, 'kinds', coalesce(f.kinds, '[]'),
          'pattern', coalesce(t.features ->> 'pattern', t.features ->> 'group'), 'actions', t.reference_actions) order by p.id)
        from played p join tasks t on t.campaign_id = ${campaignId}::integer and t.id = p.id
        left join flags f on f.iteration = p.iteration and f.task_id = p.id
        where p.iteration = m.iteration) as played,
      json_agg(json_build_object('id', m.id, 'parentId', m."parentId", 'flaggedId', m."flaggedId",
        'isAdmitted', m."isAdmitted", 'isVariant', m."isVariant", 'pattern', coalesce(m.features ->> 'pattern', m.features ->> 'group'),
        'actions', m.reference_actions) order by m.id) as candidates
    from made m group by m.iteration order by m.iteration`);
  return rows.flatMap(({ played, candidates, ...row }) =>
    played === null ? [] : enrichmentsOf(row.iteration, played, candidates),
  );
}

function enrichmentsOf(
  iteration: number,
  played: readonly PlayedRow[],
  candidates: readonly CandidateRow[],
): EnrichmentRow[] {
  const hasPatterns = played.every(({ pattern }) => pattern !== null) && candidates.every(({ isVariant }) => isVariant);
  const clusterOf = ({ pattern, actions }: Clustered): string =>
    hasPatterns ? String(pattern) : (actionPatterns(actions ?? [], 'name-set')[0] ?? '');
  const clusters = new Map(played.map((task) => [task.id, clusterOf(task)]));
  return [...groupBy(candidates, ({ id }) => aimOfTask(id))].flatMap(([aim, made]) => {
    const kind = feedbackSignalKinds.find((one) => one === aim);
    if (!kind) return [];
    const tasks = played.map(({ id, kinds }) => ({
      id,
      cluster: clusters.get(id)!,
      isFlagged: kinds.includes(kind),
    }));
    const ofRegion = (task: CandidateRow) => ({
      cluster: clusterOf(task),
      source: task.flaggedId ?? task.parentId ?? task.id,
    });
    // A placebo draws one parent for several flagged tasks: each pair counts, as each leaves out another own flag.
    const pairs = new Map(made.map((task) => [`${task.parentId} ${task.flaggedId}`, task]));
    const steps = {
      parents: [...pairs.values()].flatMap(({ parentId, flaggedId }) => {
        const cluster = parentId === null ? undefined : clusters.get(parentId);
        return cluster === undefined ? [] : [{ cluster, source: flaggedId ?? parentId! }];
      }),
      candidates: made.map(ofRegion),
      admitted: made.filter(({ isAdmitted }) => isAdmitted).map(ofRegion),
    };
    const flagged = tasks.filter(({ isFlagged }) => isFlagged).length;
    return [{ iteration, kind, flagged, ...enrichmentOf(tasks, steps) }];
  });
}
