import { z } from 'zod';
import { DomainError } from '../../domain/errors';
import { parseJson } from '../../input/parse-json';

export const conversationFormats = ['eto', 'sharegpt'] as const;
export type ConversationFormat = (typeof conversationFormats)[number];

/** One conversation of a file, with the actions of its expert in order. */
export type Conversation = {
  id: string;
  actions: string[];
  /** Reward that the file claims, in [0, 1]; null without a claim. */
  reward: number | null;
  /** Characters of all turns. */
  characters: number;
};

/** The conversations of a file, and its unusable rows with the reason. */
export type ReadConversations = { conversations: Conversation[]; refused: { id: string; reason: string }[] };

const speakers = {
  eto: ['human', 'gpt'],
  sharegpt: ['system', 'human', 'user', 'gpt', 'assistant', 'tool', 'observation'],
} as const;

const idSchema = z.union([z.string().min(1), z.number()]).transform(String);

/**
 * Reads conversations in the format of ETO ({id, conversations: [{from: human|gpt, value}], reward?}, which start with the
 * instruction and the answer "OK") or of ShareGPT, which also has a system turn and other names of the speakers.
 *
 * @param text a JSON array, or JSON lines
 * @throws DomainError `UnreadableConversations` when it is neither
 */
export function readConversations(text: string, format: ConversationFormat, idField = 'id'): ReadConversations {
  const rowSchema = z.object({
    [idField]: idSchema,
    conversations: z.array(z.object({ from: z.enum(speakers[format]), value: z.string() })).min(2),
    reward: z.number().min(0).max(1).nullish(),
  });
  const result: ReadConversations = { conversations: [], refused: [] };
  for (const [index, value] of rowsOf(text).entries()) {
    const idFound = idSchema.safeParse((value as Record<string, unknown> | null)?.[idField]);
    const id = idFound.success ? idFound.data : `row ${index + 1}`;
    const row = rowSchema.safeParse(value);
    const conversation = row.success ? toConversation(id, row.data as Row, format) : firstIssue(row.error);
    if (typeof conversation === 'string') result.refused.push({ id, reason: conversation });
    else result.conversations.push(conversation);
  }
  return result;
}

type Row = { conversations: { from: string; value: string }[]; reward?: number | null };

/** Returns the reason as text if the conversation is unusable. */
function toConversation(id: string, { conversations, reward }: Row, format: ConversationFormat): Conversation | string {
  const startsWithOk = format === 'eto' && /^ok[.!]?$/i.test(conversations[1]!.value.trim());
  const turns = startsWithOk ? conversations.slice(2) : conversations;
  const actions = turns.filter(({ from }) => from === 'gpt' || from === 'assistant').map(({ value }) => value);
  if (actions.length === 0) return 'the conversation contains no action';
  const characters = conversations.reduce((sum, { value }) => sum + value.length, 0);
  return { id, actions, reward: reward ?? null, characters };
}

function rowsOf(text: string): unknown[] {
  const whole = parseJson(text);
  if (Array.isArray(whole)) return whole;
  const lines = text.split('\n').filter((line) => line.trim());
  const rows = lines.map(parseJson);
  const invalid = rows.findIndex((row) => row === undefined);
  if (lines.length === 0 || invalid >= 0)
    throw new DomainError(
      'UnreadableConversations',
      lines.length === 0
        ? 'the file is empty; expected a JSON array or JSON lines'
        : `line ${invalid + 1} is not JSON; expected a JSON array of conversations, or one conversation per line`,
    );
  return rows;
}

function firstIssue(error: z.ZodError): string {
  const { path, message } = error.issues[0]!;
  return `${path.join('.') || 'the row'}: ${message}`;
}
