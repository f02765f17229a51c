const [start, end] = ['<think>', '</think>'];

/**
 * Returns the part of a model's answer that is its action: the text after the last end of thinking, in the tags of Qwen3,
 * DeepSeek-R1 and others. An answer that was cut off while thinking has no action.
 */
export function withoutThinking(answer: string): string {
  const last = answer.lastIndexOf(end);
  const action = last < 0 ? answer : answer.slice(last + end.length).trim();
  return action.trimStart().startsWith(start) ? '' : action;
}
