import { z } from 'zod';
import type { ChatMessage } from '../../domain/rollout/turn';

const messagesSchema = z.array(z.object({ role: z.string(), content: z.string() }));
const toolsSchema = z.array(z.record(z.string(), z.unknown()));

/** What is said of an observation beside it. */
const beside = new Set(['done', 'reward', 'metadata']);

/**
 * An observation of any shape as messages, by one rule: `messages` are taken as they are where they have that shape.
 * Otherwise the fields become one message of the user: a single text stands as it is, several fields are a line
 * `name: value` each, values that are no text as JSON. `done`, `reward` and `metadata` are left out, and so is null.
 */
export function messagesOf(observation: Record<string, unknown>): ChatMessage[] {
  const messages = messagesSchema.safeParse(observation['messages']);
  return messages.success ? messages.data : [{ role: 'user', content: plainText(observation) }];
}

/** Functions that may be called, where an observation in messages lists some beside them. */
export function toolsOf(observation: Record<string, unknown>): Record<string, unknown>[] | undefined {
  const inMessages = messagesSchema.safeParse(observation['messages']).success;
  return inMessages ? toolsSchema.safeParse(observation['tools']).data : undefined;
}

function plainText(observation: Record<string, unknown>): string {
  const fields = Object.entries(observation).filter(([name, value]) => !beside.has(name) && value != null);
  const [first] = fields;
  if (!first) return '(nothing to see)';
  if (fields.length === 1 && typeof first[1] === 'string') return first[1];
  return fields.map(([name, value]) => `${name}: ${shown(value)}`).join('\n');
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
