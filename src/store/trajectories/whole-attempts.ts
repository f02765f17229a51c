import type { Pool } from 'pg';
import type { Outcome, Purpose } from '../../domain/rollout/trajectory';
import { separatedTurn, type ChatMessage, type StoredTurn } from '../../domain/rollout/turn';
import { withStoredFunctions } from '../database/function-lists';
import { sql } from '../database/sql';

/** A finished attempt with everything that was stored about it. */
export type WholeAttempt = {
  id: string;
  iteration: number;
  purpose: Purpose;
  taskId: string;
  /** Is null for the environment's reference actions. */
  policyId: string | null;
  /** From 0. */
  attempt: number;
  seed: number;
  outcome: Outcome;
  reward: number | null;
  rawScore: number | null;
  stopReason: string;
  fault: string | null;
  promptTokens: number;
  completionTokens: number;
  seconds: number;
  /** In the form of ISO 8601, UTC. */
  recordedAt: string;
  referenceActions: unknown[];
  opening: ChatMessage[];
  turns: StoredTurn[];
};

/** Selects attempts of a campaign: of one iteration or (null) of all; with a policy, its attempts at an evaluation set. */
export type AttemptQuery = {
  campaignId: number;
  iteration: number | null;
  evaluated?: { policyId: string; evaluationSet: string };
};

/** Attempts that are in memory at once. */
const pageSize = 100;

/** Returns attempts in the order of their ids. A transaction on `client` makes them rows of one moment. */
export async function* wholeAttempts(
  client: Pick<Pool, 'query'>,
  { campaignId, iteration, evaluated }: AttemptQuery,
): AsyncGenerator<WholeAttempt> {
  let after = '';
  for (;;) {
    const { rows } = await client.query<WholeAttempt>(sql`
      select t.id, t.iteration, t.purpose, t.task_id as "taskId", t.policy_id as "policyId", t.attempt, t.seed, t.outcome,
        t.reward, t.raw_score as "rawScore", t.stop_reason as "stopReason", t.fault, t.prompt_tokens as "promptTokens",
        t.completion_tokens as "completionTokens", t.seconds, k.reference_actions as "referenceActions", t.opening,
        to_char(t.recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"') as "recordedAt",
        coalesce((select jsonb_agg(jsonb_build_object('action', s.action, 'bareAction', s.bare_action,
            'observation', s.observation, 'promptTokenIds', to_jsonb(s.prompt_token_ids),
            'tokenIds', to_jsonb(s.token_ids), 'logprobs', to_jsonb(s.logprobs)) order by s.ordinal)
          from trajectory_turns s where s.campaign_id = t.campaign_id and s.trajectory_id = t.id), '[]') as turns
      from trajectories t join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
      where t.campaign_id = ${campaignId}::integer and t.id > ${after}
        and (${iteration}::smallint is null or t.iteration = ${iteration}::smallint)
        and (${evaluated?.policyId ?? null}::text is null or (t.policy_id = ${evaluated?.policyId ?? null}
          and k.evaluation_set = ${evaluated?.evaluationSet ?? null}
          and t.purpose = case k.evaluation_set when 'dev' then 'evaluation' else 'test' end))
      order by t.id limit ${pageSize}::integer`);
    for (const row of await withStoredFunctions(client, campaignId, rows))
      yield { ...row, turns: row.turns.map(separatedTurn) };
    if (rows.length < pageSize) return;
    after = rows.at(-1)!.id;
  }
}
