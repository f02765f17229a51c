import type { SampledAction } from '../llm/policy-client';
import type { ChatMessage, StoredStep } from '../store/trajectories';
import type { EnvironmentSession, Observation, ResetRequest } from './environment';

/** Chooses the next action; null ends the episode because the player can say no more (its context is full). */
export type Player = (conversation: readonly ChatMessage[], step: number) => Promise<SampledAction | string | null>;

export type Episode = {
  opening: ChatMessage[];
  steps: StoredStep[];
  /** In [0, 1]. */
  reward: number;
  rawScore: number | null;
  stopReason: string;
  promptTokens: number;
  completionTokens: number;
};

/**
 * The observe-act loop: knows neither database nor Temporal. An episode that reaches `maxSteps`, or whose player falls
 * silent, is a failure with reward 0: the environment never called it done.
 */
export async function playEpisode(
  session: EnvironmentSession,
  request: ResetRequest,
  play: Player,
  maxSteps: number,
): Promise<Episode> {
  let seen: Observation = await session.reset(request);
  const opening = seen.messages;
  const conversation: ChatMessage[] = [...opening];
  const steps: StoredStep[] = [];
  const spent = { promptTokens: 0, completionTokens: 0 };

  while (!seen.done && steps.length < maxSteps) {
    const action = await play(conversation, steps.length);
    if (action === null) return { opening, steps, ...spent, reward: 0, rawScore: null, stopReason: 'token-limit' };
    const content = typeof action === 'string' ? action : action.content;
    count(spent, action);
    seen = await session.step(content);
    steps.push(toStep(action, content, seen.messages));
    conversation.push({ role: 'assistant', content }, ...seen.messages);
  }
  return {
    ...{ opening, steps, ...spent, rawScore: seen.rawScore, reward: seen.done ? seen.reward : 0 },
    stopReason: seen.done ? (seen.stopReason ?? 'completed') : 'step-limit',
  };
}

/** By the ids that were sampled; a model that gives none says how many there were. */
function count(spent: Pick<Episode, 'promptTokens' | 'completionTokens'>, action: SampledAction | string): void {
  if (typeof action === 'string') return;
  spent.promptTokens += action.promptTokenIds?.length ?? action.usage?.promptTokens ?? 0;
  spent.completionTokens += action.tokenIds?.length ?? action.usage?.completionTokens ?? 0;
}

function toStep(action: SampledAction | string, content: string, observation: ChatMessage[]): StoredStep {
  if (typeof action === 'string')
    return { action: content, observation, promptTokenIds: null, tokenIds: null, logprobs: null };
  const { promptTokenIds, tokenIds, logprobs } = action;
  return { action: content, observation, promptTokenIds, tokenIds, logprobs };
}
