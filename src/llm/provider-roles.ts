import type { ChatMessage } from '../store/trajectories';

/**
 * A conversation as providers of the OpenAI protocol take it. They know the role `tool` only as the answer to a call of
 * theirs with an id; an environment's results answer an action in text, so that the user says them.
 */
export const providerRoles = (messages: readonly ChatMessage[]): ChatMessage[] =>
  messages.map(({ role, content }) => ({ role: role === 'tool' ? 'user' : role, content }));
