/**
 * Returns a function call as a policy writes it, in the tags of Qwen and Hermes.
 *
 * @param args an object, or JSON; other text stays text
 */
export function writtenCall(name: string, args: unknown): string {
  return `<tool_call>\n${JSON.stringify({ name, arguments: typeof args === 'string' ? parsed(args) : args })}\n</tool_call>`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
