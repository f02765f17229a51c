import { z } from 'zod';
import { describeIssue } from '../../input/describe-issue';
import { jsonRows } from '../../input/json-rows';
import { storable } from '../../input/storable';
import { message, turnWithValue, type ConversationTurn } from './conversation-turns';

export const conversationFormats = ['auto', 'eto', 'sharegpt', 'messages', 'episodes'] as const;
export type ConversationFormat = (typeof conversationFormats)[number];

/** One conversation of a file, with the actions of its expert in order. */
export type Conversation = {
  id: string;
  actions: string[];
  /** Reward that the file claims, in [0, 1]; null without a claim. */
  reward: number | null;
  /** Characters of all turns. */
  characters: number;
  /** Reply to the first action in the file. */
  firstReply?: string | undefined;
};

export type ReadConversations = {
  conversations: Conversation[];
  /** Unusable rows with the reason. */
  refused: { id: string; reason: string }[];
  /** Answers before the first action that are no actions: confirmations of the instruction, and turns without loss. */
  leftOut: number;
};

const reward = z.number().min(0).max(1).nullish();
const transition = z
  .object({ action: z.string(), observation: z.string().nullish() })
  .transform(({ action }): ConversationTurn => ({ isAnswer: true, text: action, isTrained: true }));

const conversations = { field: 'conversations', turns: z.array(turnWithValue).min(2) };

/** The known forms of a row. `field` holds its turns. */
const forms = {
  eto: conversations,
  sharegpt: conversations,
  messages: { field: 'messages', turns: z.array(message).min(1) },
  episodes: { field: 'transitions', turns: z.array(transition).min(1) },
};

const fieldsOfIds = ['id', 'task_id', 'item_id', 'data_idx', 'episode_id'];
const rowId = z.union([z.string().min(1), z.number()]).transform(String);

/**
 * Reads conversations of experts: of ETO, AgentGym and ShareGPT (`conversations`), of OpenAI, TRL and verl (`messages`), and
 * AgentGym's episodes (`transitions`). An answer before the first action that only confirms the instruction, or that the file
 * leaves out of the loss, is no action. A later one without loss cannot be left out of a replay, and is refused.
 *
 * @param text see `jsonRows`
 * @param idField field with the id of a row; undefined: the first of the usual names
 * @throws DomainError `UnreadableRows`
 */
export function readConversations(text: string, format: ConversationFormat, idField?: string): ReadConversations {
  const result: ReadConversations = { conversations: [], refused: [], leftOut: 0 };
  for (const [index, row] of rowsOf(storable(jsonRows(text)) as unknown[]).entries()) {
    const id = idOf(row, idField);
    const read = readRow(row, format);
    if (id === undefined || 'reason' in read) {
      const missing = `${idField ?? fieldsOfIds.join(', ')}: found no id, expected a text or a number`;
      result.refused.push({ id: id ?? `row ${index + 1}`, reason: 'reason' in read ? read.reason : missing });
      continue;
    }
    const { actions, characters, claimed, leftOut, firstReply } = read;
    result.conversations.push({ id, actions, reward: claimed, characters, firstReply });
    result.leftOut += leftOut;
  }
  return result;
}

/** AgentGym's file of episodes is one object. */
const rowsOf = (rows: unknown[]): unknown[] =>
  rows.length === 1 && Array.isArray(fieldOf(rows[0], 'episodes')) ? (fieldOf(rows[0], 'episodes') as unknown[]) : rows;

const fieldOf = (row: unknown, name: string): unknown => (row as Record<string, unknown> | null)?.[name];

function idOf(row: unknown, idField: string | undefined): string | undefined {
  const names = idField === undefined ? fieldsOfIds : [idField];
  return names.map((name) => rowId.safeParse(fieldOf(row, name)).data).find((id) => id !== undefined);
}

type Actions = { actions: string[]; leftOut: number; firstReply?: string | undefined };
type ReadRow = Actions & { characters: number; claimed: number | null };

function readRow(row: unknown, format: ConversationFormat): ReadRow | { reason: string } {
  const form =
    format === 'auto' ? Object.values(forms).find(({ field }) => fieldOf(row, field) !== undefined) : forms[format];
  if (!form || fieldOf(row, form.field) === undefined) return { reason: unknownForm(row) };
  const given = {
    [form.field]: fieldOf(row, form.field),
    reward: fieldOf(row, 'reward') ?? fieldOf(row, 'total_reward'),
  };
  const schema = z.object({ [form.field]: form.turns, reward });
  const { data, error } = schema.safeParse(given);
  if (error) return { reason: describeIssue(error.issues[0]!, schema, given)[0]! };
  const turns = data[form.field] as ConversationTurn[];
  const answers = actionsOf(turns);
  if ('reason' in answers) return answers;
  const characters = turns.reduce((sum, turn) => sum + turn.text.length, 0);
  return { ...answers, characters, claimed: (data.reward as number | null | undefined) ?? null };
}

/** Leaves out the answers before the first action. */
function actionsOf(turns: readonly ConversationTurn[]): Actions | { reason: string } {
  const answers = turns.filter(({ isAnswer }) => isAnswer);
  const isFollowed = turns.at(-1) !== answers[0];
  const first = answers.findIndex(
    ({ isTrained, text }, n) => isTrained && !(n === 0 && isFollowed && isConfirmation(text)),
  );
  if (first < 0) return { reason: 'the conversation contains no action' };
  const actions = answers.slice(first);
  const masked = actions.findIndex(({ isTrained }) => !isTrained);
  if (masked >= 0)
    return {
      reason: `action ${masked + 1}: found loss, weight or train that leaves it out, expected none after the first action: all actions of an expert are replayed and trained on`,
    };
  const reply = turns[turns.indexOf(actions[0]!) + 1];
  const firstReply = reply?.isAnswer === false ? reply.text.trim() : undefined;
  return { actions: actions.map(({ text }) => text), leftOut: first, firstReply };
}

/** A scripted answer to the instruction, such as "OK. I'll follow your instructions and try my best to solve the task." */
const isConfirmation = (text: string): boolean =>
  (/^(ok|okay|sure( thing)?|of course|certainly|absolutely|understood|noted|got it|roger|al(l |)right)([.,!]|$)/i.test(
    text.trim(),
  ) ||
    /^(yes, )?i('ll|'m ready| will| am ready| understand)([.,!]|$| (to|follow|try|do my best|your|the)\b)/i.test(
      text.trim(),
    )) &&
  text.length <= 300 &&
  !/\b(action|act|thought|think)\s*:|```|<\w+>|[[({]/i.test(text);

const unknownForm = (row: unknown): string => {
  const keys = typeof row === 'object' && row !== null ? Object.keys(row).slice(0, 10).join(', ') : JSON.stringify(row);
  return `found ${keys || 'no field'}, expected conversations (of from and value), messages (of role and content) or transitions (of action)`;
};
