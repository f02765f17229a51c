import { parseJson } from './parse-json';

/**
 * Returns a function call as a policy writes it, in the tags of Qwen and Hermes.
 *
 * @param args an object, or JSON; other text stays text
 */
export function writtenCall(name: string, args: unknown): string {
  const value = typeof args === 'string' ? (parseJson(args) ?? args) : args;
  return `<tool_call>\n${JSON.stringify({ name, arguments: value })}\n</tool_call>`;
}
