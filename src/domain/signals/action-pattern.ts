import { withoutThinking } from '../rollout/thinking';
import { compareText } from '../compare-text';

/**
 * Extraction of patterns from the action names of a trajectory. It decides which patterns are rare: almost all whole
 * sequences are, few sets of names are.
 *
 * - `whole`: one sequence of all names
 * - `bigram`, `trigram`: every sequence of two or three names; a shorter trajectory is one pattern
 * - `name-set`: the distinct names, in alphabetical order
 */
export const patternExtractors = ['whole', 'bigram', 'trigram', 'name-set'] as const;
export type PatternExtractor = (typeof patternExtractors)[number];

/** Returns the patterns of one trajectory, in order and with repetitions; none without actions. Arguments are ignored. */
export function actionPatterns(actions: readonly string[], extractor: PatternExtractor): string[] {
  return actions.length === 0 ? [] : extractors[extractor](actions.map(actionName));
}

const extractors: Record<PatternExtractor, (names: readonly string[]) => string[]> = {
  whole: (names) => [sequence(names)],
  bigram: (names) => ngrams(names, 2),
  trigram: (names) => ngrams(names, 3),
  'name-set': (names) => [[...new Set(names)].sort(compareText).join(' | ')],
};

function ngrams(names: readonly string[], length: number): string[] {
  if (names.length <= length) return [sequence(names)];
  return names.slice(length - 1).map((_, i) => sequence(names.slice(i, i + length)));
}

function sequence(names: readonly string[]): string {
  return names.join(' > ');
}

/** Returns the action names of a pattern of any extractor. */
export const namesOfPattern = (pattern: string): string[] => pattern.split(/ [>|] /);

/**
 * Returns the name of an action, without its arguments:
 *
 * - SQL becomes its clause skeleton: `select count(*) from t where x = 'a'` is `SELECT COUNT WHERE`
 * - calls become their functions' names: `f(x=1)` is `f`, `[a.b(1), g(h(2))]` is `a.b g`, `{"name": "f"}` and the formats
 *   of model families are `f`; Python's built-in functions count only alone: `print(a.b(1))` is `a.b`
 * - other text becomes its first word in lower case, or `(empty)`
 *
 * Thinking does not count. In ReAct text only the part after the last `Action:` counts; code fences are removed.
 */
export function actionName(text: string): string {
  const answer = withoutThinking(text);
  const action = (answer.split('Action:').at(-1) ?? answer).replace(/```\w*\n|```/g, ' ').trim();
  const marked = markedNames(action);
  if (marked.length > 0) return marked.join(' ');
  const bare = withoutQuoted(action).trim();
  if (sqlStart.test(bare)) return clauseSkeleton(bare);
  const calls = calledNames(bare);
  if (calls.length > 0) return calls.join(' ');
  return /[\p{L}\p{N}_]+/u.exec(action)?.[0].toLowerCase() ?? '(empty)';
}

/** The verb of a statement; directly before a parenthesis it is the name of a function. */
const sqlStart = /^(?:select|with|insert|update|delete|show|describe|desc|explain|pragma)\b(?!\()/i;

const aggregates = new Set(['COUNT', 'SUM', 'AVG', 'MIN', 'MAX']);

/** Clauses that distinguish queries; FROM is missing, because every SELECT has one. */
const clauses = new Set(
  (
    'SELECT WITH INSERT UPDATE DELETE SHOW DESCRIBE DESC EXPLAIN PRAGMA DISTINCT JOIN WHERE GROUP HAVING ORDER LIMIT ' +
    'UNION INTERSECT EXCEPT LIKE BETWEEN IN EXISTS CASE'
  ).split(' '),
);

/** Returns clauses and aggregates in order; `count` without a parenthesis is a column. */
function clauseSkeleton(sql: string): string {
  return [...sql.toUpperCase().matchAll(/([A-Z_][A-Z0-9_]*)\s*(\(?)/g)]
    .filter(([, word = '', open]) => clauses.has(word) || (open === '(' && aggregates.has(word)))
    .map(([, word]) => word)
    .join(' ');
}

/** Begins calls that are JSON or have the format of a model family; the environments parse the same ones. */
const callStart =
  /<tool_?call>|<function[_=]|<\|tool_call|<\|python_tag\|>|\[TOOL_CALLS\]|<start_function_call>|<\uff5ctool\u2581call|\bto=functions\.|^functions\.|(?<=^|\n|[.:!?] |\bfunctools)(?:\[\s*)?\{\s*"(?:name|function|type|tool_calls|id)"/i;

const namedCall =
  /(?:<function=|\[TOOL_CALLS\]|<tool_call>\s*|<start_function_call>call:|(?:^|\}|\bto=|_begin\|>)\s*functions\.|<\uff5ctool\u2581call\u2581begin\uff5c>(?:function<\uff5ctool\u2581sep\uff5c>)?)([A-Za-z_][\w.-]*)/g;

/** Returns the names of calls that are written as JSON, or before their arguments in the format of a model family. */
function markedNames(text: string): string[] {
  const start = text.search(callStart);
  if (start < 0) return [];
  const calls = text.slice(start);
  const named = [...calls.matchAll(namedCall)].map(([, name]) => name!);
  return named.length > 0 ? named : jsonNames(calls);
}

const argumentKeys = new Set(['arguments', 'parameters', 'input', 'args']);

/** Returns the texts of the keys `name` and `function`, except inside arguments. */
function jsonNames(text: string): string[] {
  const names: string[] = [];
  const open: boolean[] = []; // for each open bracket: true within arguments
  let key = '';
  for (const [token, word, colon] of text.matchAll(/"((?:\\.?|[^"\\])*)(?:"\s*(:?)|$)|[[\]{}]/gs)) {
    if (word === undefined) {
      if (token === '{' || token === '[') open.push(open.at(-1) || argumentKeys.has(key));
      else open.pop();
    } else if (!colon && !open.at(-1) && (key === 'name' || key === 'function')) names.push(word);
    key = colon ? word! : '';
  }
  return names.filter((name) => /^[\w.-]+$/.test(name));
}

/** Built-in functions of Python that convert, count or show the results of other calls. */
const builtIns = new Set(
  'all any dict enumerate float int len list max min next print range repr reversed round set sorted str sum tuple zip'.split(
    ' ',
  ),
);

/** Returns the names before an opening parenthesis, except inside another call's arguments. */
function calledNames(text: string): string[] {
  const names: string[] = [];
  const open: boolean[] = []; // for each open parenthesis: true if it hides the calls inside
  let hiding = 0;
  for (const [token] of text.matchAll(/(?<![\w.])[A-Za-z_][\w.]*\(|[()]/g)) {
    if (token === ')') {
      if (open.pop()) hiding--;
      continue;
    }
    const name = token.slice(0, -1);
    if (name && hiding === 0) names.push(name);
    const hides = name !== '' && !builtIns.has(name);
    open.push(hides);
    if (hides) hiding++;
  }
  const others = names.filter((name) => !builtIns.has(name));
  return others.length > 0 ? others : names.slice(0, 1);
}

/** Removes quoted text, which may contain keywords, names and parentheses. An unclosed quote is kept. */
function withoutQuoted(text: string): string {
  const ends = new Map([
    ["'", /(?:\\.|[^'\\])*'/sy],
    ['"', /(?:\\.|[^"\\])*"/sy],
    ['`', /[^`]*`/y],
  ]);
  let kept = '';
  let from = 0;
  for (const { 0: quote, index } of text.matchAll(/['"`]/g)) {
    const end = ends.get(quote);
    if (index < from || !end) continue;
    end.lastIndex = index + 1;
    if (end.test(text)) {
      kept += `${text.slice(from, index)} `;
      from = end.lastIndex;
    } else ends.delete(quote); // no later one is closed: they are all escaped
  }
  return kept + text.slice(from);
}
