import { parseExact } from './exact-json';
import { parseJson } from './parse-json';

/**
 * Returns a function call as a policy writes it, in the tags of Qwen and Hermes.
 *
 * @param args an object, or JSON, whose numbers are kept digit by digit; other text stays text
 */
export function writtenCall(name: string, args: unknown): string {
  const exact = typeof args === 'string' ? parseExact(args) : { value: args };
  if ('value' in exact) return tagged(JSON.stringify({ name, arguments: exact.value }));
  const isJson = parseJson(String(args)) !== undefined; // of which JavaScript would lose something
  return tagged(`{"name":${JSON.stringify(name)},"arguments":${isJson ? String(args).trim() : JSON.stringify(args)}}`);
}

/** Puts the JSON of a call into its tags. */
export const tagged = (call: string): string => `<tool_call>\n${call}\n</tool_call>`;
