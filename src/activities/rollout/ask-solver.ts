import { trajectoryId, type AttemptKey } from '../../domain/campaign/ids';
import type { ChatMessage } from '../../domain/rollout/turn';
import { separateAction } from '../../domain/rollout/separate-action';
import { promptId } from '../../llm/prompts/prompt';
import { solvePrompt } from '../../llm/prompts/solve';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { Dependencies } from '../context/dependencies';

/** A turn of an attempt that a language model plays. */
export type AskedTurn = { campaignId: number; epoch: number; attempt: AttemptKey; turn: number };

export type AskedAction = { conversation: readonly ChatMessage[]; seed: number; signal: AbortSignal };

/** Requests the solver's next action at a candidate. Returns null if the answer was refused or cut off. */
export async function askSolver(
  { models }: Dependencies,
  spec: CampaignSpec,
  { campaignId, epoch, attempt, turn }: AskedTurn,
  { conversation, seed, signal }: AskedAction,
): Promise<string | null> {
  const reply = await models.complete(spec, {
    key: { campaignId, epoch, iteration: attempt.iteration },
    callId: `solve/${trajectoryId(attempt)}/${turn}`,
    purpose: 'solver',
    prompt: promptId(solvePrompt),
    seed,
    signal,
    messages: solvePrompt.render({
      conversation,
      observationCharacters: spec.synthesis.exploration.observationCharacters,
    }),
  });
  return reply.kind === 'text' ? separateAction(reply.text).action : null;
}
