import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import { functionsRole } from '../../domain/rollout/functions';
import type { ChatMessage } from '../../domain/rollout/turn';
import { sha256 } from '../../files/sha256';
import { sql } from './sql';

type Conversation = { opening: ChatMessage[]; turns: { observation: ChatMessage[] }[] };

/**
 * Stores the lists of callable functions in a conversation once per campaign, and returns the conversation with their
 * sha256 (hex) in place of each list: an episode of BFCL would else repeat 18 kB.
 */
export async function storeFunctions<T extends Conversation>(
  pool: Pick<Pool, 'query'>,
  campaignId: number,
  conversation: T,
): Promise<T> {
  const hashes = new Map([...new Set(contentsOf([conversation]))].map((content) => [content, sha256(content)]));
  if (hashes.size === 0) return conversation;
  await pool.query(sql`
    insert into function_lists (campaign_id, sha256, functions)
    select ${campaignId}::integer, l.sha256, l.functions from unnest(${[...hashes.values()]}::text[],
      ${[...hashes.keys()]}::text[]) as l (sha256, functions)
    on conflict do nothing`);
  return replaceContents(conversation, (content) => hashes.get(content)!);
}

/**
 * Returns stored conversations with their lists of functions.
 *
 * @throws DomainError `MissingFunctions` when a list is not stored
 */
export async function withStoredFunctions<T extends Conversation>(
  pool: Pick<Pool, 'query'>,
  campaignId: number,
  conversations: readonly T[],
): Promise<T[]> {
  const hashes = [...new Set(contentsOf(conversations))];
  if (hashes.length === 0) return [...conversations];
  const { rows } = await pool.query<{ sha256: string; functions: string }>(sql`
    select sha256, functions from function_lists where campaign_id = ${campaignId}::integer
      and sha256 = any (${hashes}::text[])`);
  const lists = new Map(rows.map((row) => [row.sha256, row.functions]));
  const listOf = (hash: string): string => {
    const list = lists.get(hash);
    if (list === undefined)
      throw new DomainError('MissingFunctions', `no list of functions has the sha256 ${hash}; restore the database`);
    return list;
  };
  return conversations.map((conversation) => replaceContents(conversation, listOf));
}

const contentsOf = (conversations: readonly Conversation[]): string[] =>
  conversations
    .flatMap(({ opening, turns }) => [...opening, ...turns.flatMap(({ observation }) => observation)])
    .filter(({ role }) => role === functionsRole)
    .map(({ content }) => content);

function replaceContents<T extends Conversation>(conversation: T, replaced: (content: string) => string): T {
  const inMessages = (messages: ChatMessage[]): ChatMessage[] =>
    messages.map(({ role, content }) => ({ role, content: role === functionsRole ? replaced(content) : content }));
  return {
    ...conversation,
    opening: inMessages(conversation.opening),
    turns: conversation.turns.map((turn) => ({ ...turn, observation: inMessages(turn.observation) })),
  };
}
