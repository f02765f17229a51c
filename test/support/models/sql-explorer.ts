import type { Pool } from 'pg';
import type { ChatMessage } from '../../../src/domain/rollout/turn';
import { judgeByAnswers, seedAnswers, type KnownAnswers } from './reference-judge';
import type { ModelRequest, Rule } from './scripted-model';

export type RequestKind = 'reflection' | 'exploration' | 'abstraction' | 'wording' | 'solving' | 'other';

/** Returns the kind of a request by the start of its prompt. */
export function requestKind({ messages }: Pick<ModelRequest, 'messages'>): RequestKind {
  const first = messages[0]?.content ?? '';
  if (first.startsWith('You study how an agent behaves')) return 'reflection';
  if (first.startsWith('You explore an interactive environment')) return 'exploration';
  if (first.startsWith('You complete a task')) return 'solving';
  if (first.startsWith('You write the request')) return 'wording';
  return first.startsWith('You turn records of an exploration') ? 'abstraction' : 'other';
}

/**
 * Model that reflects, explores intercode-sql with SQL over the tables that it finds, makes tasks of successful queries,
 * and solves such tasks. A function of the request and its seed: equal requests get equal answers. Other requests go to `others`.
 */
export const sqlExplorer =
  (others: Rule = () => undefined): Rule =>
  (request) => {
    switch (requestKind(request)) {
      case 'reflection':
        return reflect(request);
      case 'exploration':
        return nextAction(request);
      case 'abstraction':
        return abstract(request);
      case 'wording':
        return word(request);
      case 'solving':
        return solve(request);
      case 'other':
        return others(request);
    }
  };

const textOf = (messages: readonly ChatMessage[]): string => messages.map(({ content }) => content).join('\n');

function reflect({ messages }: ModelRequest): string {
  const text = textOf(messages);
  const signal = /^Signal: (.*)$/m.exec(text)?.[1];
  const goal = /^Task: (.*)$/m.exec(text)?.[1];
  return JSON.stringify({
    summary: `The agent was asked: ${goal}`,
    failureCause: 'Its query did not answer the question.',
    instabilityPattern: `Picked out for ${signal}.`,
    focusPatterns: ['aggregates', 'conditions on one column'],
    explorationObjectives: ['count rows of every table', 'find largest and smallest values'],
    doNotRepeat: ['guessing the names of columns'],
  });
}

/** Returns the next action: list the tables, describe one, query it (one query fails), and submit at the end. */
function nextAction({ messages, body }: ModelRequest): string {
  const actions = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
  const step = actions.length;
  const run = Number(body['seed']) - step; // the seed of a run grows by 1 per action
  const limit = Number(/You have (\d+) actions/.exec(messages[0]!.content)?.[1]);
  if (step === Math.min(limit, 10) - 1) return 'submit'; // attempts have at most ten actions
  if (step === 0) return "select name from sqlite_master where type = 'table'";
  const tables = firstColumn(messages[3]!.content);
  const table = tables[run % tables.length]!;
  if (step === 1) return `describe ${table}`;
  if (step === 3) return `select nothing_of_this_name from ${table}`;
  const columns = firstColumn(messages[5]!.content);
  return queryOver(table, columns, run + step);
}

/** Returns the first values of the rows of an observation such as `[('a', 1), ('b', 2)]`, which may be truncated. */
const firstColumn = (observation: string): string[] =>
  [...observation.matchAll(/\('([^']+)',/g)].map(([, name]) => name!);

function queryOver(table: string, columns: readonly string[], index: number): string {
  const column = columns[Math.floor(index / 7) % columns.length]!;
  const limit = 1 + (Math.floor(index / 3) % 9);
  const queries = [
    `select count(*) from ${table}`,
    `select count(distinct ${column}) from ${table}`,
    `select max(${column}) from ${table}`,
    `select min(${column}) from ${table}`,
    `select distinct ${column} from ${table} order by ${column} limit ${limit}`,
    `select ${column}, count(*) from ${table} group by ${column} order by count(*) desc, ${column} limit ${limit}`,
    `select count(*) from ${table} where ${column} = (select max(${column}) from ${table})`,
  ];
  return queries[index % queries.length]!;
}

type Tuple = { action: string; observation: string };

function abstract({ messages }: ModelRequest): string {
  const limit = Number(/at most (\d+) in all/.exec(messages[0]!.content)?.[1]);
  const database = /Database: (\w+)/.exec(messages[1]!.content)?.[1];
  const unique = new Map(tuplesOf(messages[1]!.content).map((tuple) => [tuple.action, tuple]));
  const successful = [...unique.values()].filter(
    ({ action, observation }) =>
      action.startsWith('select ') &&
      !action.includes('sqlite_master') &&
      !/^(?:Error|\[\]|\[\(None,\)\])/.test(observation),
  );
  const candidates = successful.slice(0, limit).map(({ action }, index) => ({
    description: `Reads ${database} with one query.`,
    query: requestFor(action, database!),
    actions: [action],
    confidence: Number((0.95 - index / 100).toFixed(2)),
    completionCriterion: 'The answer holds the rows that the query returns.',
  }));
  return `Here they are:\n\`\`\`json\n${JSON.stringify({ candidates }, null, 2)}\n\`\`\``;
}

/** Returns the request of the one query that was executed. */
function word({ messages }: ModelRequest): string {
  const database = /Database: (\w+)/.exec(messages[1]!.content)?.[1];
  const action = /<work>\n\[1\] action:\n([^]*?)\n\[1\] observation:/.exec(messages[1]!.content)?.[1];
  return JSON.stringify({ request: requestFor(action!, database!) });
}

const tuplesOf = (text: string): Tuple[] =>
  [
    ...text.matchAll(
      /^\[(\d+\.\d+)\] action:\n([^]*?)\n\[\1\] observation:\n([^]*?)(?=\n\n\[\d+\.\d+\] action:|\n<\/runs>)/gm,
    ),
  ].map(([, , action, observation]) => ({ action: action!, observation: observation! }));

/** `sqlExplorer` that also judges: runs at its own goals, and runs at the stored seed tasks. */
export const judgedSqlExplorer = (pool: () => Pool): Rule => {
  const seeds = seedAnswers(pool);
  return sqlExplorer(
    judgeByAnswers(async (question) => [...(await exploredAnswers(question)), ...(await seeds(question))]),
  );
};

/** Returns the played query if the goal describes it. */
const exploredAnswers: KnownAnswers = ({ goal, played: [sql] }) => {
  const database = /^In (\w+), report /.exec(goal)?.[1];
  return database && sql && requestFor(sql, database) === goal ? [[sql, 'submit']] : [];
};

/** Returns the query of a goal that `requestFor` made, then the submission. */
function solve({ messages }: ModelRequest): string {
  const goal = /In \w+, report ([^.]*)\./.exec(messages[0]!.content)?.[1];
  if (!goal || messages.some(({ role }) => role === 'assistant')) return 'submit';
  const clauses = goal
    .replaceAll('the number of rows', 'count(*)')
    .replace(/how many different (\w+) there are/g, 'count(distinct $1)')
    .replace(/the largest (\w+)/g, 'max($1)')
    .replace(/the smallest (\w+)/g, 'min($1)')
    .replace(/^the different /, 'distinct ')
    .replace(/ in (\w+)/g, ' from $1');
  return `select ${clauses}`;
}

/** Returns a different goal per query, so that tasks with different answers have different goals. */
function requestFor(sql: string, database: string): string {
  const words = sql
    .replace('select ', '')
    .replace(/count\(\*\)/g, 'the number of rows')
    .replace(/count\(distinct (\w+)\)/g, 'how many different $1 there are')
    .replace(/max\((\w+)\)/g, 'the largest $1')
    .replace(/min\((\w+)\)/g, 'the smallest $1')
    .replace(/^distinct /, 'the different ')
    .replace(/ from (\w+)/g, ' in $1');
  return `In ${database}, report ${words}.`;
}
