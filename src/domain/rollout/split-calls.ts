const closingOf: Record<string, string> = { '(': ')', '[': ']', '{': '}' };

/** Splits an action that is a list of calls, such as `[cd('a'), ls()]`; any other action is one call. */
export function splitCalls(action: string): { calls: string[]; listed: boolean } {
  const text = action.trim();
  const calls = text.startsWith('[') && text.endsWith(']') ? splitList(text.slice(1, -1)) : undefined;
  return calls && calls.length > 0 ? { calls, listed: true } : { calls: [action], listed: false };
}

/** Inverse of `splitCalls`. */
export const joinCalls = (calls: readonly string[], listed: boolean): string =>
  listed ? `[${calls.join(', ')}]` : calls.join(' ');

/** Returns the parts between the outermost commas; undefined when brackets or quotes do not close. */
function splitList(text: string): string[] | undefined {
  const open: string[] = [];
  const parts: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const letter = text[i]!;
    const inside = open.at(-1);
    if (inside === "'" || inside === '"') {
      if (letter === '\\') i += 1;
      else if (letter === inside) open.pop();
    } else if (letter === inside) open.pop();
    else if (letter === "'" || letter === '"') open.push(letter);
    else if (letter in closingOf) open.push(closingOf[letter]!);
    else if (letter === ',' && open.length === 0) {
      parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return open.length === 0 ? parts.filter((part) => part !== '') : undefined;
}
