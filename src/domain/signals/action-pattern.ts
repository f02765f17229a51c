import { compareText } from '../base/compare-text';

/**
 * How a trajectory's action names become patterns. The choice decides what is rare: whole sequences nearly all are,
 * sets of names seldom.
 *
 * - `whole`: the one sequence of all names
 * - `bigram`, `trigram`: every run of two or three names; a shorter trajectory is its own one pattern
 * - `name-set`: the names that occur, each once, in alphabetical order
 */
export type PatternExtractor = 'whole' | 'bigram' | 'trigram' | 'name-set';

export const patternExtractors: readonly PatternExtractor[] = ['whole', 'bigram', 'trigram', 'name-set'];

/**
 * The patterns of one trajectory, in order, repeated as often as they occur; arguments are normalised away.
 *
 * @returns none for a trajectory without actions
 */
export function actionPatterns(actions: readonly string[], extractor: PatternExtractor): string[] {
  return actions.length === 0 ? [] : extract[extractor](actions.map(actionName));
}

const extract: Record<PatternExtractor, (names: readonly string[]) => string[]> = {
  whole: (names) => [sequence(names)],
  bigram: (names) => runs(names, 2),
  trigram: (names) => runs(names, 3),
  'name-set': (names) => [[...new Set(names)].sort(compareText).join(' | ')],
};

function runs(names: readonly string[], length: number): string[] {
  if (names.length <= length) return [sequence(names)];
  return names.slice(length - 1).map((_, i) => sequence(names.slice(i, i + length)));
}

function sequence(names: readonly string[]): string {
  return names.join(' > ');
}

/**
 * What an action does, without its arguments:
 *
 * - SQL becomes its clause skeleton: `select count(*) from t where x = 'a'` is `SELECT COUNT WHERE`
 * - calls become their functions' names: `f(x=1)` is `f`, `[a.b(1), g(h(2))]` is `a.b g`
 * - other text becomes its first word in lower case, or `(empty)`
 *
 * Of ReAct text only what follows the last `Action:` counts; code fences are looked through.
 */
export function actionName(text: string): string {
  const action = (text.split('Action:').at(-1) ?? text).replace(/```\w*\n|```/g, ' ');
  const bare = withoutQuoted(action).trim();
  if (sqlStart.test(bare)) return clauseSkeleton(bare);
  const calls = calledNames(bare);
  if (calls.length > 0) return calls.join(' ');
  return /[\p{L}\p{N}_]+/u.exec(action)?.[0].toLowerCase() ?? '(empty)';
}

/** A statement's verb; directly before a parenthesis it is a function that happens to have that name. */
const sqlStart = /^(?:select|with|insert|update|delete|show|describe|desc|explain|pragma)\b(?!\()/i;

const aggregates = new Set(['COUNT', 'SUM', 'AVG', 'MIN', 'MAX']);

/** What tells queries apart; FROM is left out, for every SELECT has one. */
const clauses = new Set(
  (
    'SELECT WITH INSERT UPDATE DELETE SHOW DESCRIBE DESC EXPLAIN PRAGMA DISTINCT JOIN WHERE GROUP HAVING ORDER LIMIT ' +
    'UNION INTERSECT EXCEPT LIKE BETWEEN IN EXISTS CASE'
  ).split(' '),
);

/** Clauses and aggregates in order; `count` without a parenthesis is a column. */
function clauseSkeleton(sql: string): string {
  return [...sql.toUpperCase().matchAll(/([A-Z_][A-Z0-9_]*)\s*(\(?)/g)]
    .filter(([, word = '', open]) => clauses.has(word) || (open === '(' && aggregates.has(word)))
    .map(([, word]) => word)
    .join(' ');
}

/** Names before an opening parenthesis, those inside another call's arguments left out. */
function calledNames(text: string): string[] {
  const names: string[] = [];
  let depth = 0;
  for (const [token] of text.matchAll(/(?<![\w.])[A-Za-z_][\w.]*\(|[()]/g)) {
    if (token === ')') depth = Math.max(0, depth - 1);
    else if (depth++ === 0 && token !== '(') names.push(token.slice(0, -1));
  }
  return names;
}

/** Quoted text may hold anything: keywords, names, parentheses. A quote that never closes is kept as it is. */
function withoutQuoted(text: string): string {
  return text.replace(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`/gs, ' ');
}
