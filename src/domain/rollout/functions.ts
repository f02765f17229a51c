import type { ChatMessage } from './turn';

/** Role of a message that lists all functions that may be called from there on. Its content is a JSON array. */
export const functionsRole = 'functions';

/** A function as its environment describes it, usually with `name`, `description` and `parameters`. */
export type CallableFunction = Record<string, unknown>;

/** Adds the functions to the messages of an observation, after its system messages. */
export function withFunctions(messages: readonly ChatMessage[], functions: readonly CallableFunction[]): ChatMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system');
  const at = first < 0 ? messages.length : first;
  return messages.toSpliced(at, 0, { role: functionsRole, content: JSON.stringify(functions) });
}

/**
 * Returns the conversation as a model reads it: each list of functions becomes text, in the system message before it or
 * in the user message after it, so that no template meets two messages of one role in a row. A later list names only the
 * functions that are new, unless some are gone. Prefixes that end before an action stay equal when a conversation grows.
 */
export const withFunctionsAsText = <Message extends ChatMessage>(
  conversation: readonly Message[],
): (Message | ChatMessage)[] => asText(conversation, []);

/** A function in the form of the OpenAI protocol's `tools`. */
export type Tool = { type: 'function'; function: CallableFunction };

/**
 * Returns the conversation with its first list of functions beside the messages, for a chat template that has a format for
 * them. Templates state functions once, at the start: later lists are text, because every token after a changed start would
 * be another. Without functions before the first action all lists are text.
 */
export function withFunctionsAsTools<Message extends ChatMessage>(
  conversation: readonly Message[],
): {
  messages: (Message | ChatMessage)[];
  tools?: Tool[];
} {
  const at = conversation.findIndex(({ role }) => role === functionsRole || role === 'assistant');
  const listed =
    conversation[at]?.role === functionsRole ? (JSON.parse(conversation[at].content) as CallableFunction[]) : [];
  if (listed.length === 0) return { messages: withFunctionsAsText(conversation) };
  const messages = asText(
    conversation.toSpliced(at, 1),
    listed.map((one) => JSON.stringify(one)),
  );
  return { messages, tools: listed.map(toTool) };
}

/** Environments list functions with or without OpenAI's `type` and `function`. */
const toTool = (listed: CallableFunction): Tool =>
  typeof listed['function'] === 'object' && listed['function'] !== null
    ? { type: 'function', function: listed['function'] as CallableFunction }
    : { type: 'function', function: listed };

/** @param before the functions that the reader knows, each as JSON */
function asText<Message extends ChatMessage>(
  conversation: readonly Message[],
  before: readonly string[],
): (Message | ChatMessage)[] {
  const shown: (Message | ChatMessage)[] = [];
  let known = before;
  let pending: string | null = null;
  for (const message of conversation) {
    const { role, content } = message;
    if (role === functionsRole) {
      const listed = (JSON.parse(content) as unknown[]).map((one) => JSON.stringify(one));
      const text = newFunctions(listed, known);
      known = listed;
      if (text === null) continue;
      const last = shown.at(-1);
      if (last?.role === 'system') shown[shown.length - 1] = { role: 'system', content: `${last.content}\n\n${text}` };
      else if (!last) shown.push({ role: 'system', content: text });
      else pending = text;
    } else if (pending !== null && role === 'user') {
      shown.push({ role, content: `${pending}\n\n${content}` });
      pending = null;
    } else {
      if (pending !== null) shown.push({ role: 'user', content: pending });
      pending = null;
      shown.push(message);
    }
  }
  if (pending !== null) shown.push({ role: 'user', content: pending });
  return shown;
}

/** Returns null if no function is new or gone. */
function newFunctions(listed: readonly string[], known: readonly string[]): string | null {
  const [now, before] = [new Set(listed), new Set(known)]; // a server may list thousands
  const added = listed.filter((one) => !before.has(one));
  if (known.every((one) => now.has(one)))
    return added.length === 0 ? null : withLines(known.length > 0 ? 'You may also call' : 'You may call', added);
  return listed.length === 0 ? 'You may call no function any more.' : withLines('You may now call only', listed);
}

const withLines = (sentence: string, functions: readonly string[]): string =>
  `${sentence} these functions, one JSON object per line:\n${functions.join('\n')}`;

/** Returns a summary of a list of functions for people: their number and names. */
export function summarizeFunctions(content: string): string {
  const functions = JSON.parse(content) as CallableFunction[];
  return `${functions.length} function${functions.length === 1 ? '' : 's'}: ${functions.map(functionName).join(', ')}`;
}

/** OpenAI's form may hold the description in `function`. */
function functionName({ name, function: nested }: CallableFunction): string {
  const found = name ?? (nested as { name?: unknown } | undefined)?.name;
  return typeof found === 'string' ? found : '(without a name)';
}
