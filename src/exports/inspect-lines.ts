import type { Pool } from 'pg';
import { withFunctionsAsText } from '../domain/rollout/functions';
import { isSuccess } from '../domain/rollout/trajectory';
import { conversationOf, type ChatMessage } from '../domain/rollout/turn';
import { wholeAttempts, type WholeAttempt } from '../store/trajectories/whole-attempts';
import { sql } from '../store/database/sql';

type Evaluation = {
  iteration: number;
  policyId: string;
  evaluationSet: string;
  tasks: number;
  success: number;
  low: number;
  high: number;
  meanReward: number;
  role: string;
  /** In the form of ISO 8601, UTC. */
  recordedAt: string;
};

export type EvaluatedCampaign = {
  id: number;
  name: string;
  environment: string;
  recipe: string;
  specHash: string;
};

/**
 * Returns the input of the Inspect exporter, lines of JSON: per policy and evaluation set a line with the log's header, then
 * a line per attempt.
 *
 * @param folder where the logs are written
 */
export async function* inspectLines(
  client: Pick<Pool, 'query'>,
  campaign: EvaluatedCampaign,
  evaluations: readonly Evaluation[],
  folder: string,
): AsyncGenerator<string> {
  for (const [i, evaluation] of evaluations.entries()) {
    const log = { path: `${folder}/${fileName(i + 1, evaluation)}`, ...header(campaign, evaluation) };
    yield `${JSON.stringify({ log })}\n`;
    const { policyId, evaluationSet } = evaluation;
    const query = { campaignId: campaign.id, iteration: null, evaluated: { policyId, evaluationSet } };
    for await (const attempt of wholeAttempts(client, query))
      yield `${JSON.stringify({ sample: sampleOf(campaign, attempt) })}\n`;
  }
}

/** Lists the evaluations of an iteration, or (null) of all. One that repeats an evaluation of an earlier iteration is left out. */
export async function listEvaluations(
  client: Pick<Pool, 'query'>,
  campaignId: number,
  iteration: number | null,
): Promise<Evaluation[]> {
  const { rows } = await client.query<Evaluation>(sql`
    select * from (
      select distinct on (e.policy_id, e.evaluation_set) e.iteration, e.policy_id as "policyId",
        e.evaluation_set as "evaluationSet", e.tasks, e.successes / greatest(e.tasks, 1) as success, e.success_low as low,
        e.success_high as high, e.mean_reward as "meanReward", e.role,
        to_char(e.recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"') as "recordedAt"
      from reporting.evaluations e
      where e.campaign_id = ${campaignId}::integer
      order by e.policy_id, e.evaluation_set, e.iteration) first
    where ${iteration}::smallint is null or iteration = ${iteration}::smallint
    order by iteration, "evaluationSet" collate "C", "policyId"`);
  return rows;
}

/** A name begins with its position, by which a viewer sorts. Names of sets are free: they may contain slashes. */
const fileName = (position: number, { evaluationSet, policyId }: Evaluation): string =>
  `${String(position).padStart(3, '0')}_${evaluationSet.replaceAll(/[^\w.-]/g, '-')}_${policyId.slice(0, 12)}.eval`;

function header(campaign: EvaluatedCampaign, evaluation: Evaluation) {
  const { iteration, policyId, evaluationSet, role, tasks, success, low, high, meanReward, recordedAt } = evaluation;
  const id = `${campaign.name}/${policyId}/${evaluationSet}`;
  return {
    id,
    task: `${campaign.environment}/${evaluationSet}`,
    dataset: evaluationSet,
    model: policyId,
    created: recordedAt,
    tasks,
    metrics: { success: { rate: success, low, high }, reward: { mean: meanReward } },
    metadata: { campaign: campaign.name, recipe: campaign.recipe, spec_hash: campaign.specHash, iteration, role },
  };
}

function sampleOf(campaign: EvaluatedCampaign, attempt: WholeAttempt) {
  const { id, taskId, outcome, reward, rawScore, stopReason, fault, iteration, seed } = attempt;
  const asRead = (messages: readonly ChatMessage[]): ChatMessage[] => withFunctionsAsText(messages);
  return {
    id: taskId,
    epoch: attempt.attempt + 1,
    uuid: `${campaign.name}/${id}`,
    target: attempt.referenceActions.map((action) => (typeof action === 'string' ? action : JSON.stringify(action))),
    opening: asRead(attempt.opening).length,
    messages: asRead(conversationOf(attempt)),
    scores: reward === null ? null : { success: isSuccess(reward) ? 1 : 0, reward },
    error: reward === null ? `${outcome}: ${fault ?? stopReason}` : null,
    prompt_tokens: attempt.promptTokens,
    completion_tokens: attempt.completionTokens,
    seconds: attempt.seconds,
    turns: attempt.turns.length,
    completed_at: attempt.recordedAt,
    metadata: { attempt: id, iteration, seed, stop_reason: stopReason, raw_score: rawScore },
  };
}
