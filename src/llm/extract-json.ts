/** Maximum number of opening braces to try, because prose may contain any number of braces. */
const maxStarts = 200;

/**
 * Returns the outermost JSON objects of a text in their order, and skips fences and prose around them. A text that is
 * truncated within an object contains none.
 */
export function extractJson(text: string): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  let start = text.indexOf('{');
  for (let starts = 0; start >= 0 && starts < maxStarts; starts++) {
    const end = endOfObject(text, start);
    const value = end === undefined ? undefined : parse(text.slice(start, end));
    if (value) found.push(value);
    start = text.indexOf('{', value ? end : start + 1);
  }
  return found;
}

/** Returns the index after the brace that closes the brace at `start`. */
function endOfObject(text: string, start: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let i = start; i < text.length; i++) {
    const letter = text[i];
    if (quoted) {
      if (letter === '\\') i++;
      else if (letter === '"') quoted = false;
    } else if (letter === '"') quoted = true;
    else if (letter === '{') depth++;
    else if (letter === '}' && --depth === 0) return i + 1;
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
