import { isAlias, isMap, isScalar, LineCounter, parseDocument, visit, type Document, type YAMLError } from 'yaml';
import { exactNumber, isExactNumber } from './exact-number';

export type ParsedYaml = {
  value: unknown;
  /** Returns the position of a key, or of the innermost existing section around it; undefined for the whole text. */
  positionOf(path: readonly string[]): string | undefined;
};

/** The library compares each key of a mapping with all others: 1 MiB of keys needs minutes. */
export const maxYamlBytes = 2 ** 18;

/** Values are printed, hashed and stored by recursion. */
const maxDepth = 100;

/** Parses one YAML (or JSON) document to plain values. Returns one line per mistake if it is invalid. */
export function parseYaml(text: string): ParsedYaml | { problems: string[] } {
  if (Buffer.byteLength(text) > maxYamlBytes)
    return { problems: [`the whole file: found more than ${maxYamlBytes / 1024} KiB, expected a shorter text`] };
  const lines = new LineCounter();
  const document = parseDocument(text, { stringKeys: true, prettyErrors: true, lineCounter: lines });
  const mistakes: YAMLError[] = [...document.errors, ...document.warnings]; // an unknown tag is only a warning
  if (mistakes.length > 0) return { problems: causesOf(mistakes, text, lines) };
  try {
    const value = document.toJS() as unknown;
    const parsed = { value, positionOf: (path: readonly string[]) => positionIn(document, lines, path) };
    const strange = strangeValues(value).map((problem) => withPosition(problem, parsed));
    const problems = [...inexactNumbers(document, lines), ...strange];
    return problems.length > 0 ? { problems } : parsed;
  } catch (error) {
    // an alias without its anchor, or nested aliases that expand beyond the memory
    return { problems: [`${positionOfLooseAlias(document, lines)}not YAML: ${(error as Error).message}`] };
  }
}

/** Returns a problem for each number that JavaScript would round. */
function inexactNumbers(document: Document.Parsed, lines: LineCounter): string[] {
  const problems: string[] = [];
  visit(document, {
    Scalar(_, { value, source = '', range }) {
      if (typeof value === 'number' && /^-?\d+$/.test(source) && !isExactNumber(source))
        problems.push(`${positionAt(range![0], lines)}: found ${source.slice(0, 40)}, expected ${exactNumber}`);
    },
  });
  return problems;
}

/** Returns the position of the first alias without an anchor before it; empty if there is none. */
function positionOfLooseAlias(document: Document.Parsed, lines: LineCounter): string {
  let position = '';
  visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document) || !alias.range) return undefined;
      position = `${positionAt(alias.range[0], lines)}: `;
      return visit.BREAK;
    },
  });
  return position;
}

/** Adds the position of its field to a problem, which starts with the field's path; unchanged for the whole text. */
export function withPosition(problem: string, { positionOf }: Pick<ParsedYaml, 'positionOf'>): string {
  const position = positionOf(fieldOf(problem));
  return position ? `${position}: ${problem}` : problem;
}

/** Returns the path of the field with which a problem starts. */
export const fieldOf = (problem: string): string[] => problem.slice(0, Math.max(0, problem.indexOf(': '))).split('.');

/** Returns a problem for each value that YAML can represent, and JSON, Postgres or an object of JavaScript cannot. */
export const strangeValues = (value: unknown): string[] => [...findStrange(value, [], [])];

/** @param above the sections around the value */
function* findStrange(value: unknown, path: readonly string[], above: readonly unknown[]): Generator<string> {
  const found = `${path.join('.') || 'the whole file'}: found`;
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed()))
    yield `${found} ${JSON.stringify(value).slice(0, 80)}, expected a text without NUL and without half characters`;
  if (typeof value === 'number' && !Number.isFinite(value)) yield `${found} ${value}, expected a number that is finite`; // JSON: null
  if (typeof value !== 'object' || value === null) return;
  if (above.includes(value)) yield `${found} an alias of a section around it, expected values`;
  else if (path.length === maxDepth)
    yield `${path.slice(0, 3).join('.')}: found more than ${maxDepth} levels, expected fewer`;
  else if (Object.hasOwn(value, '__proto__'))
    yield `${[...path, '__proto__'].join('.')}: found an unknown key, expected another name`;
  else for (const [key, inner] of Object.entries(value)) yield* findStrange(inner, [...path, key], [...above, value]);
}

function positionIn(document: Document, lines: LineCounter, path: readonly string[]): string | undefined {
  let section: unknown = document.contents;
  let offset: number | undefined;
  for (const key of path) {
    const map = isAlias(section) ? section.resolve(document) : section;
    const pair = isMap(map) ? map.items.find((item) => isScalar(item.key) && item.key.value === key) : undefined;
    if (!pair) break;
    offset = isScalar(pair.key) ? pair.key.range?.[0] : undefined;
    section = pair.value;
  }
  return offset === undefined ? undefined : positionAt(offset, lines);
}

function positionAt(offset: number, lines: LineCounter): string {
  const { line, col } = lines.linePos(offset);
  return `line ${line}, column ${col}`;
}

/** A blank that is no indentation, and none after a key or a dash, although it looks like one. */
const oddBlank = /(?:^|[:-]) *([\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000])/gmu;

/** Returns the problems without those that follow from a tab or an odd blank. */
function causesOf(mistakes: readonly YAMLError[], text: string, lines: LineCounter): string[] {
  const blanks = [...text.matchAll(oddBlank)].map(({ 0: match, 1: blank, index }) => {
    const code = blank!.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    return `${positionAt(index + match.length - 1, lines)}: found the blank U+${code}, expected ordinary spaces`;
  });
  if (blanks.length > 0) return blanks;
  const tabs = mistakes.filter(({ code }) => code === 'TAB_AS_INDENT');
  return (tabs.length > 0 ? tabs : mistakes).map((mistake) => yamlProblem(mistake, text));
}

function yamlProblem({ code, message, linePos, pos }: YAMLError, text: string): string {
  const start = linePos?.[0];
  const position = start ? `line ${start.line}, column ${start.col}` : 'not YAML';
  switch (code) {
    case 'DUPLICATE_KEY': {
      const key = /^[^:\s]*/.exec(text.slice(pos[0]))?.[0];
      return `${position}: found ${key} a second time, expected every key once`;
    }
    case 'MULTIPLE_DOCS':
      return `${position}: found a second document after "---", expected one campaign per file`;
    case 'TAB_AS_INDENT':
      return `${position}: found a tab, expected spaces as indentation`;
    case 'NON_STRING_KEY':
      return `${position}: found a list or a mapping as a key, expected a name`;
    case 'RESOURCE_EXHAUSTION':
      return `${position}: found more levels than can be read, expected at most ${maxDepth}`;
    default:
      return `${position}: ${start ? 'not YAML: ' : ''}${message.replace(/ at line \d+, column \d+:[\s\S]*$/, '')}`;
  }
}
