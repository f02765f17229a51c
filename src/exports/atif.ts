import { withFunctionsAsTools, type Tool } from '../domain/rollout/functions';
import { playedAction, separatedConversationOf, type ChatMessage, type StoredTurn } from '../domain/rollout/turn';
import type { WholeAttempt } from '../store/trajectories/whole-attempts';

/** Version of the Agent Trajectory Interchange Format (Harbor's RFC 0001) that the lines have. */
const schemaVersion = 'ATIF-v1.7';

export type AtifSource = { campaign: string; recipe: string; environment: string; version: string };

type Step = {
  step_id: number;
  source: 'system' | 'user' | 'agent';
  message: string;
  reasoning_content?: string;
  observation?: { results: { content: string; extra: { role: string } }[] };
  metrics?: Record<string, unknown>;
  llm_call_count?: 0 | 1;
};

/**
 * Returns an attempt as a trajectory of ATIF: a step per message of the opening, and a step per turn with its
 * observation, token ids and log-probabilities. The reference actions of an environment are no model calls. Returns null
 * for an attempt without a message, which the format does not allow.
 */
export function atifTrajectory(attempt: WholeAttempt, { campaign, version, ...source }: AtifSource): object | null {
  const { tools, opening, turns } = conversationSteps(attempt);
  const steps = [...opening, ...turns].map((step, n) => ({ step_id: n + 1, ...step }));
  if (steps.length === 0) return null;
  const { id, iteration, purpose, taskId, policyId, seed, outcome, reward, rawScore, stopReason, fault } = attempt;
  return {
    schema_version: schemaVersion,
    session_id: `${campaign}/${id}`,
    trajectory_id: id,
    agent: {
      name: 'coevolve',
      version,
      model_name: policyId ?? 'reference',
      ...(tools && { tool_definitions: tools }),
    },
    steps,
    final_metrics: {
      total_prompt_tokens: attempt.promptTokens,
      total_completion_tokens: attempt.completionTokens,
      total_steps: steps.length,
      extra: { reward, raw_score: rawScore, seconds: attempt.seconds },
    },
    extra: {
      campaign,
      ...source,
      iteration,
      purpose,
      task_id: taskId,
      attempt: attempt.attempt,
      seed,
      outcome,
      stop_reason: stopReason,
      fault,
      recorded_at: attempt.recordedAt,
    },
  };
}

type NewStep = Omit<Step, 'step_id'>;

function conversationSteps(attempt: WholeAttempt): { tools?: Tool[]; opening: NewStep[]; turns: NewStep[] } {
  const { messages, tools } = withFunctionsAsTools(separatedConversationOf(attempt));
  const opening: NewStep[] = [];
  const turns: NewStep[] = [];
  for (const message of messages)
    if (message.role === 'assistant') turns.push(agentStep(attempt.turns[turns.length]!, attempt.policyId !== null));
    else if (turns.length === 0) opening.push(openingStep(message));
    else addObservation(turns.at(-1)!, message);
  return { ...(tools && { tools }), opening, turns };
}

const openingStep = ({ role, content }: ChatMessage): NewStep => ({
  source: role === 'system' ? 'system' : 'user',
  message: content,
});

function agentStep(turn: StoredTurn, isModel: boolean): NewStep {
  const { action, promptTokenIds, tokenIds, logprobs } = turn;
  const played = playedAction(turn);
  if (!isModel) return { source: 'agent', message: played, llm_call_count: 0 };
  return {
    source: 'agent',
    message: played,
    ...(played !== action && { reasoning_content: thinkingBefore(played, action) }),
    llm_call_count: 1,
    metrics: {
      ...(promptTokenIds && { prompt_tokens: promptTokenIds.length, prompt_token_ids: promptTokenIds }),
      ...(tokenIds && { completion_tokens: tokenIds.length, completion_token_ids: tokenIds }),
      ...(logprobs && { logprobs }),
    },
  };
}

/** Returns the sampled text without the action at its end. */
const thinkingBefore = (played: string, action: string): string =>
  action.endsWith(played) ? action.slice(0, action.length - played.length) : action;

function addObservation(step: NewStep, { role, content }: ChatMessage): void {
  step.observation ??= { results: [] };
  step.observation.results.push({ content, extra: { role } });
}
