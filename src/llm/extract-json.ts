/** Prose may hold any number of braces; whoever opens more than these without a JSON object behind them has none. */
const mostStarts = 200;

/**
 * The JSON objects that stand in a text, outermost ones, in their order; fences and prose around them are passed over.
 * A text that is cut off in the middle of an object holds none.
 */
export function extractJson(text: string): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  let start = text.indexOf('{');
  for (let starts = 0; start >= 0 && starts < mostStarts; starts++) {
    const end = endOfObject(text, start);
    const value = end === undefined ? undefined : parse(text.slice(start, end));
    if (value) found.push(value);
    start = text.indexOf('{', value ? end : start + 1);
  }
  return found;
}

/** The place behind the brace that closes the one at `start`. */
function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const letter = text[at];
    if (quoted) {
      if (letter === '\\') at++;
      else if (letter === '"') quoted = false;
    } else if (letter === '"') quoted = true;
    else if (letter === '{') depth++;
    else if (letter === '}' && --depth === 0) return at + 1;
  }
  return undefined;
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
