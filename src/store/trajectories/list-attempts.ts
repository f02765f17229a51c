import type { Pool } from 'pg';
import type { AgentRole } from '../../domain/roles';
import type { Outcome, Purpose, TaskSplit } from '../../domain/rollout/trajectory';
import type { FeedbackSignalKind } from '../../domain/signals/feedback-signal';
import { containing } from '../database/like-pattern';
import { raw, sql } from '../database/sql';
import { pageOf, type Page } from '../database/page';

/** Conditions of a list of attempts; an absent one holds for every attempt. */
export type AttemptFilter = {
  iteration?: number;
  purposes?: readonly Purpose[];
  task?: string;
  split?: TaskSplit;
  /** The agent that played. */
  role?: AgentRole | 'base';
  /** First digits of the policy's hash. */
  policy?: string;
  outcome?: Outcome;
  stopReason?: string;
  /** In [0, 1]; an attempt without a reward matches neither bound. */
  minReward?: number;
  maxReward?: number;
  /** Part of the text of a fault, which ended the attempt or an earlier try of it. */
  fault?: string;
  signal?: FeedbackSignalKind;
};

export const attemptOrders = {
  time: 'recorded_at',
  duration: 'seconds',
  reward: 'reward',
  tokens: 'prompt_tokens + completion_tokens',
  turns: 'turns',
} as const;

export type AttemptOrder = { by: keyof typeof attemptOrders; ascending?: boolean };

export type ListedAttempt = {
  id: string;
  iteration: number;
  purpose: Purpose;
  taskId: string;
  split: TaskSplit;
  /** Is null where reference actions or a language model were played, as the policy is. */
  role: AgentRole | 'base' | null;
  policyId: string | null;
  outcome: Outcome;
  reward: number | null;
  stopReason: string;
  fault: string | null;
  /** Tries of the attempt that ended in a fault, and were repeated. */
  faults: number;
  turns: number;
  promptTokens: number;
  completionTokens: number;
  seconds: number;
  signals: FeedbackSignalKind[];
  recordedAt: Date;
};

/** Lists finished attempts of a campaign; missing values come last. `limit`: null for all. */
export async function listAttempts(
  pool: Pool,
  campaignId: number,
  filter: AttemptFilter,
  { by, ascending = false, limit }: AttemptOrder & { limit: number | null },
): Promise<Page<ListedAttempt>> {
  const { rows } = await pool.query<ListedAttempt & { total: number }>(sql`
    select id, iteration, purpose, task_id as "taskId", split, role, policy_id as "policyId", outcome, reward,
      stop_reason as "stopReason", fault, turns, prompt_tokens as "promptTokens",
      completion_tokens as "completionTokens", seconds, recorded_at as "recordedAt", faults, signals,
      (count(*) over ())::integer as total
    from reporting.attempts t
    where campaign_id = ${campaignId}::integer and ${attemptCondition(filter)}
    order by ${raw(attemptOrders[by])} ${raw(ascending ? 'asc' : 'desc')} nulls last, id
    limit ${limit}::integer`);
  return pageOf(rows);
}

/** Returns the condition of a filter on the view `t` of attempts. */
export function attemptCondition(filter: AttemptFilter) {
  const { iteration, purposes, task, split, role, policy, outcome, stopReason, minReward, maxReward, fault, signal } =
    filter;
  const faultText = fault === undefined ? null : containing(fault);
  return sql`
    (${iteration ?? null}::smallint is null or iteration = ${iteration ?? null}::smallint)
    and (${purposes ?? null}::text[] is null or purpose = any (${purposes ?? null}::text[]))
    and (${task ?? null}::text is null or task_id = ${task ?? null}::text)
    and (${split ?? null}::text is null or split = ${split ?? null}::text)
    and (${role ?? null}::text is null or role = ${role ?? null}::text)
    and (${policy ?? null}::text is null or starts_with(policy_id, ${policy ?? null}::text))
    and (${outcome ?? null}::text is null or outcome = ${outcome ?? null}::text)
    and (${stopReason ?? null}::text is null or stop_reason = ${stopReason ?? null}::text)
    and (${minReward ?? null}::float8 is null or reward >= ${minReward ?? null}::float8)
    and (${maxReward ?? null}::float8 is null or reward <= ${maxReward ?? null}::float8)
    and (${faultText}::text is null or fault ilike ${faultText}::text or exists (select from reporting.faults f
      where f.campaign_id = t.campaign_id and f.attempt_id = t.id and f.fault ilike ${faultText}::text))
    and (${signal ?? null}::text is null or ${signal ?? null}::text = any (signals))`;
}
