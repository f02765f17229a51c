import type { Pool } from 'pg';
import { DomainError } from '../../domain/base/errors';
import type { ForkOrigin } from '../../domain/campaign/fork-origin';
import {
  reflectionCallId,
  type ExplorationOutcome,
  type ModelFailure,
  type Reflection,
} from '../../domain/tasks/exploration';
import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import type { Outcome } from '../../domain/rollout/trajectory';
import { campaignStore } from '../campaign/campaigns';
import { taskStore, type TaskRow } from './tasks';

/** Where a task comes from, link by link; a link that its way does not have is null or empty. */
export type TaskLineage = ForkOrigin & {
  campaign: string;
  task: TaskRow;
  /** The task that it is a variant of, or whose environment was explored. */
  parent: { id: string; goal: string } | null;
  signal: { id: string; kind: FeedbackSignalKind; detail: Record<string, number | string> } | null;
  /** What the signal's kind flagged at that task in that iteration; the one that was `raised` is the signal's own. */
  trajectories: { id: string; policyId: string; reward: number | null; raised: boolean }[];
  context: {
    id: string;
    status: string;
    context: Reflection | null;
    failure: ModelFailure | null;
    /** null where there was nothing to reflect upon. */
    callId: string | null;
  } | null;
  runs: { id: string; outcome: ExplorationOutcome; reward: number | null; turns: number; fault: string | null }[];
  abstraction: { id: string; candidates: number; callId: string } | null;
  validation: {
    trajectory: { id: string; outcome: Outcome; reward: number | null; turns: number } | null;
    verdicts: { stage: string; passed: boolean; reason: string; detail: Record<string, unknown> }[];
    judgements: { id: string; judge: string; completed: boolean | null; reason: string; callId: string }[];
  };
};

/**
 * Traces a task: signal, trajectories, exploration context, runs, abstraction, validation. An environment's own variant
 * has no context, a seed task no signal.
 *
 * @throws DomainError `UnknownCampaign`, `UnknownTask`
 */
export async function getTaskLineage(pool: Pool, campaign: string, taskId: string): Promise<TaskLineage> {
  const { id: campaignId, forkedFrom, forkIteration } = await campaignStore(pool).getByName(campaign);
  const task = (await taskStore(pool).get(campaignId, taskId)) as TaskRow | undefined;
  if (!task) throw new DomainError('UnknownTask', `no task has the id "${taskId}"; see \`coevolve tasks ${campaign}\``);

  const list = <Row extends object>(sql: string, id: string | null): Promise<Row[]> =>
    id === null ? Promise.resolve([]) : pool.query<Row>(sql, [campaignId, id]).then((result) => result.rows);
  const context = (await list<Linked<'context'>>(contextQuery, task.contextId))[0] ?? null;
  return {
    ...{ campaign, forkedFrom, forkIteration, task },
    parent: (await list<Linked<'parent'>>(parentQuery, task.parentTaskId))[0] ?? null,
    signal: (await list<Linked<'signal'>>(signalQuery, task.parentSignalId))[0] ?? null,
    trajectories: await list(trajectoriesQuery, task.parentSignalId),
    context: context && { ...context, callId: task.parentSignalId && reflectionCallId(context.id) },
    runs: await list(runsQuery, task.contextId),
    abstraction: (await list<Linked<'abstraction'>>(abstractionQuery, task.contextId))[0] ?? null,
    validation: {
      trajectory: (await list<Validation<'trajectory'>>(validationQuery, taskId))[0] ?? null,
      verdicts: await list(verdictsQuery, taskId),
      judgements: await list(judgementsQuery, taskId),
    },
  };
}

type Linked<Link extends 'parent' | 'signal' | 'context' | 'abstraction'> = NonNullable<TaskLineage[Link]>;
type Validation<Link extends keyof TaskLineage['validation']> = NonNullable<TaskLineage['validation'][Link]>;

const parentQuery = `select id, goal from tasks where campaign_id = $1::integer and id = $2`;

const signalQuery = `
  select id, kind, detail from feedback_signals where campaign_id = $1::integer and id = $2`;

const trajectoriesQuery = `
  select t.id, t.policy_id as "policyId", t.reward, beside.id = own.id as raised
  from feedback_signals own
  join feedback_signals beside on beside.campaign_id = own.campaign_id and beside.iteration = own.iteration
    and beside.kind = own.kind and beside.task_id = own.task_id
  join trajectories t on t.campaign_id = beside.campaign_id and t.id = beside.trajectory_id
  where own.campaign_id = $1::integer and own.id = $2
  order by beside.ordinal`;

const contextQuery = `
  select id, status, context, failure from exploration_contexts where campaign_id = $1::integer and id = $2`;

const runsQuery = `
  select r.id, r.outcome, r.reward, r.fault, (select count(*) from exploration_turns s
    where s.campaign_id = r.campaign_id and s.run_id = r.id)::integer as turns
  from exploration_runs r where r.campaign_id = $1::integer and r.context_id = $2 order by r.round`;

const abstractionQuery = `
  select id, candidates, call_id as "callId" from abstractions where campaign_id = $1::integer and context_id = $2`;

const validationQuery = `
  select id, outcome, reward, turn_count as turns from trajectories
  where campaign_id = $1::integer and task_id = $2 and purpose = 'validation'
  order by iteration, attempt limit 1`;

const verdictsQuery = `
  select stage, passed, reason, detail from admission_verdicts
  where campaign_id = $1::integer and task_id = $2 order by ordinal`;

const judgementsQuery = `
  select id, judge_version as judge, completed, reason, call_id as "callId" from judgements
  where campaign_id = $1::integer and task_id = $2 and kind = 'candidate' order by recorded_at, id`;
