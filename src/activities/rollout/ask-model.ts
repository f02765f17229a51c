import { trajectoryId } from '../../domain/campaign/ids';
import { promptOf, readingOf } from '../../domain/rollout/reading';
import type { ChatMessage } from '../../domain/rollout/turn';
import { environmentPrompt } from '../../llm/prompts/prompt';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { Dependencies } from '../context/dependencies';
import type { AskedAction, AskedTurn } from './ask-solver';

/**
 * Requests the next action of a language model that is evaluated in place of a policy. It reads the messages of the environment
 * as a policy does, and its answer is played as it is: a refused one is an empty action. Returns null if the conversation
 * exceeds its context.
 *
 * @throws DomainError `BudgetReached`; ModelError when the provider does not answer: a fault, never an action
 */
export async function askModel(
  { models }: Pick<Dependencies, 'models'>,
  spec: CampaignSpec,
  { campaignId, epoch, attempt, turn }: AskedTurn,
  { conversation, seed, signal }: AskedAction,
): Promise<string | null> {
  const reply = await models.complete(spec, {
    key: { campaignId, epoch, iteration: attempt.iteration },
    callId: `play/${trajectoryId(attempt)}/${turn}`,
    purpose: 'solver',
    prompt: environmentPrompt,
    isFinal: true,
    seed,
    signal,
    messages: promptOf(conversation, readingOf(spec)).messages.map(readable),
  });
  if (reply.kind === 'text') return reply.text;
  if (reply.kind === 'refused') return '';
  return reply.at === 'context' ? null : reply.text;
}

/** Providers refuse roles that only the templates of policies have, and observations of tools that no message has called. */
const readable = ({ role, content }: ChatMessage): ChatMessage => ({
  role: ['system', 'assistant'].includes(role) ? role : 'user',
  content,
});
