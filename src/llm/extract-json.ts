import { answerBounds, jsonBounds } from '../input/json-bounds';

/** Only the end of a longer text is searched: answers come last, and 128,000 tokens have about 500,000 characters. */
const maxLength = 2 ** 20;

/** Maximum number of texts between braces to parse, because prose may contain any number of braces. */
const maxParsed = 1_000;

/** Characters to scan and to parse, as multiples of the text's length: the time is linear for every text. */
const [maxScans, maxParses] = [8, 2];

/**
 * Returns the outermost JSON objects of a text in their order, and skips fences and prose around them. A text that is
 * truncated within an object contains none.
 */
export function extractJson(whole: string): Record<string, unknown>[] {
  const text = whole.slice(-maxLength);
  const found: Record<string, unknown>[] = [];
  const endOf = braceMatcher(text);
  let parseBudget = maxParses * text.length;
  let parsed = 0;
  for (let start = text.indexOf('{'); start >= 0 && parsed < maxParsed;) {
    const end = endOf(start);
    const isTried = end !== undefined && end - start <= parseBudget;
    const value = isTried ? parse(text.slice(start, end)) : undefined;
    if (isTried) parsed++;
    if (isTried && !value) parseBudget -= end - start;
    if (value) found.push(value);
    start = text.indexOf('{', value ? end : start + 1);
  }
  return found;
}

/**
 * Returns a function that finds the index after the brace that closes the one at `start`; undefined without one. A scan
 * also finds the ends of all braces within, and a brace in a quoted text starts a scan of its own.
 */
function braceMatcher(text: string): (start: number) => number | undefined {
  const ends = new Int32Array(text.length); // of an open brace: the complement of the brace around it, below 0
  let scanBudget = maxScans * text.length;

  function scan(start: number): void {
    let open = -1;
    let quoted = false;
    for (let i = start; i < text.length && scanBudget > 0; i++, scanBudget--) {
      const letter = text[i];
      if (quoted) {
        if (letter === '\\') i++;
        else if (letter === '"') quoted = false;
      } else if (letter === '"') quoted = true;
      else if (letter === '{') {
        ends[i] = ~(open + 1);
        open = i;
      } else if (letter === '}') {
        const outer = ~ends[open]! - 1;
        ends[open] = i + 1;
        open = outer;
        if (open < 0) return;
      }
    }
  }

  return (start) => {
    if (ends[start] === 0) scan(start);
    const end = ends[start]!;
    return end > 0 ? end : undefined;
  };
}

const objectBounds = { ...answerBounds, maxItems: 20_000 };

/** Returns undefined for a text that is no JSON, or too deep for code that recurses into it. */
function parse(text: string): Record<string, unknown> | undefined {
  try {
    jsonBounds(objectBounds)(Buffer.from(text));
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
