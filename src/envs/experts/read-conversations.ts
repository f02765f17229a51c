import { z } from 'zod';
import { DomainError } from '../../domain/base/errors';
import { parseJson } from '../../base/parse-json';

export const conversationFormats = ['eto', 'sharegpt'] as const;
export type ConversationFormat = (typeof conversationFormats)[number];

/** One conversation of a file: what its expert said, in order. */
export type Conversation = {
  id: string;
  actions: string[];
  /** What the file claims, in [0, 1]; null where it claims nothing. */
  reward: number | null;
  /** Of all turns. */
  characters: number;
};

/** A file's rows: those that are conversations, and the others with what is wrong. */
export type ReadConversations = { conversations: Conversation[]; refused: { id: string; reason: string }[] };

const speakers = {
  eto: ['human', 'gpt'],
  sharegpt: ['system', 'human', 'user', 'gpt', 'assistant', 'tool', 'observation'],
} as const;

const id = z.union([z.string().min(1), z.number()]).transform(String);

/**
 * Reads conversations in ETO's form ({id, conversations: [{from: human|gpt, value}], reward?}; the instruction and the
 * "OK" that answers it come first) or in ShareGPT's, which also has a system and other names of the speakers.
 *
 * @param text a JSON array, or JSON lines
 * @throws DomainError `UnreadableConversations` when it is neither
 */
export function readConversations(text: string, format: ConversationFormat, idField = 'id'): ReadConversations {
  const row = z.object({
    [idField]: id,
    conversations: z.array(z.object({ from: z.enum(speakers[format]), value: z.string() })).min(2),
    reward: z.number().min(0).max(1).nullish(),
  });
  const read: ReadConversations = { conversations: [], refused: [] };
  for (const [place, value] of rowsOf(text).entries()) {
    const named = id.safeParse((value as Record<string, unknown> | null)?.[idField]);
    const called = named.success ? named.data : `row ${place + 1}`;
    const parsed = row.safeParse(value);
    const found = parsed.success ? toConversation(called, parsed.data as Row, format) : problemOf(parsed.error);
    if (typeof found === 'string') read.refused.push({ id: called, reason: found });
    else read.conversations.push(found);
  }
  return read;
}

type Row = { conversations: { from: string; value: string }[]; reward?: number | null };

function toConversation(
  called: string,
  { conversations, reward }: Row,
  format: ConversationFormat,
): Conversation | string {
  const acknowledged = format === 'eto' && /^ok[.!]?$/i.test(conversations[1]!.value.trim());
  const turns = acknowledged ? conversations.slice(2) : conversations;
  const actions = turns.filter(({ from }) => from === 'gpt' || from === 'assistant').map(({ value }) => value);
  if (actions.length === 0) return 'the expert says nothing in it';
  const characters = conversations.reduce((sum, { value }) => sum + value.length, 0);
  return { id: called, actions, reward: reward ?? null, characters };
}

function rowsOf(text: string): unknown[] {
  const whole = parseJson(text);
  if (Array.isArray(whole)) return whole;
  const lines = text.split('\n').filter((line) => line.trim());
  const rows = lines.map(parseJson);
  const bad = rows.findIndex((row) => row === undefined);
  if (lines.length === 0 || bad >= 0)
    throw new DomainError(
      'UnreadableConversations',
      lines.length === 0
        ? 'the file is empty; expected a JSON array or JSON lines'
        : `line ${bad + 1} is no JSON; expected a JSON array of conversations, or one conversation a line`,
    );
  return rows;
}

function problemOf(error: z.ZodError): string {
  const { path, message } = error.issues[0]!;
  return `${path.join('.') || 'the row'}: ${message}`;
}
