const [start, end] = ['<think>', '</think>'];

/**
 * Returns the part of a model's answer that is its action: the text after the last end of thinking, in the tags of Qwen3,
 * DeepSeek-R1 and others, and before a line that begins thinking that was cut off.
 */
export function withoutThinking(answer: string): string {
  const last = answer.lastIndexOf(end);
  const action = last < 0 ? answer : answer.slice(last + end.length).trim();
  const cutOff = action.search(/^[ \t]*<think>/m);
  return cutOff < 0 ? action : action.slice(0, cutOff).trim();
}

/** Returns the action of an answer, or null if the answer is nothing but its action. Called once, when it is sampled. */
export function bareActionOf(answer: string): string | null {
  const action = withoutThinking(answer);
  return action === answer ? null : action;
}

/** Returns an answer whose thinking the server has separated from it, in the tags; a null `content` was cut off in it. */
export const withThinking = (thinking: string, content: string | null): string =>
  content === null ? `${start}${thinking}` : `${start}${thinking}${end}${content}`;

/**
 * Separates the thinking at the start of a reply that is parsed, such as JSON, which may quote the tags. Servers whose
 * template opens the thinking return its end alone: it counts beside a line break, which no text of JSON contains.
 */
export function separateThinking(reply: string): { thinking: string; text: string } {
  const isOpen = reply.trimStart().startsWith(start);
  const first = isOpen ? reply.indexOf(end) : (/(?<=\n)<\/think>|<\/think>(?=\s*(?:\n|$))/.exec(reply)?.index ?? -1);
  if (first < 0) return isOpen ? { thinking: reply, text: '' } : { thinking: '', text: reply };
  return { thinking: reply.slice(0, first + end.length), text: reply.slice(first + end.length).trim() };
}
