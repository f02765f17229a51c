import type { ChatMessage } from '../../domain/rollout/turn';
import { messagesSchema, toolsSchema } from '../contract/environment';

const conversation = messagesSchema.refine((messages) => messages.length > 0);

/** Fields that are no part of the observation itself. */
const excluded = new Set(['done', 'reward', 'metadata']);

/**
 * Converts an observation of any shape to messages. `messages` of the expected shape are returned unchanged. Otherwise
 * the fields are one user message: a single text without its name, several fields as lines `name: value`, with JSON
 * for values that are no text. `done`, `reward`, `metadata` and null values are left out.
 */
export function messagesOf(observation: Record<string, unknown>): ChatMessage[] {
  const messages = conversation.safeParse(observation['messages']);
  return messages.success ? messages.data : [{ role: 'user', content: plainText(observation) }];
}

/** Returns the callable functions listed by an observation that has messages. */
export function toolsOf(observation: Record<string, unknown>): Record<string, unknown>[] | undefined {
  const inMessages = conversation.safeParse(observation['messages']).success;
  return inMessages ? toolsSchema.safeParse(observation['tools']).data : undefined;
}

function plainText(observation: Record<string, unknown>): string {
  const fields = Object.entries(observation).filter(([name, value]) => !excluded.has(name) && value != null);
  const [first] = fields;
  if (!first) return '(nothing to see)';
  if (fields.length === 1 && typeof first[1] === 'string') return first[1];
  return fields.map(([name, value]) => `${name}: ${shown(value)}`).join('\n');
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
