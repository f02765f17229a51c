import type { ChatMessage } from '../../../src/domain/rollout/turn';
import type { ModelRequest, Rule } from './scripted-model';

export type AskedFor = 'reflection' | 'exploration' | 'abstraction' | 'other';

/** What a request asks for, by how its prompt begins. */
export function askedFor({ messages }: Pick<ModelRequest, 'messages'>): AskedFor {
  const first = messages[0]?.content ?? '';
  if (first.startsWith('You study how an agent behaves')) return 'reflection';
  if (first.startsWith('You explore an interactive environment')) return 'exploration';
  return first.startsWith('You turn records of an exploration') ? 'abstraction' : 'other';
}

/**
 * A model that reflects, explores intercode-sql with SQL over the tables that it finds, and abstracts what it saw
 * succeed into tasks. A function of the request alone, its seed included: the same call gets the same answer. What asks
 * for something else is left to `others`.
 */
export const sqlExplorer =
  (others: Rule = () => undefined): Rule =>
  (request) => {
    switch (askedFor(request)) {
      case 'reflection':
        return reflect(request);
      case 'exploration':
        return nextAction(request);
      case 'abstraction':
        return abstract(request);
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

/** Tables first, then the columns of one of them, then queries over it, one of which fails; at last the end. */
function nextAction({ messages, body }: ModelRequest): string {
  const actions = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
  const step = actions.length;
  const run = Number(body['seed']) - step; // a run adds 1 per action to its seed
  const limit = Number(/You have (\d+) actions/.exec(messages[0]!.content)?.[1]);
  if (step === Math.min(limit, 10) - 1) return 'submit'; // an attempt has ten actions here
  if (step === 0) return "select name from sqlite_master where type = 'table'";
  const tables = firstColumn(messages[3]!.content);
  const table = tables[run % tables.length]!;
  if (step === 1) return `describe ${table}`;
  if (step === 3) return `select nothing_of_this_name from ${table}`;
  const columns = firstColumn(messages[5]!.content);
  return queryOver(table, columns, run + step);
}

/** First values of the rows of an observation such as `[('a', 1), ('b', 2)]`, which may be cut off at its end. */
const firstColumn = (observation: string): string[] =>
  [...observation.matchAll(/\('([^']+)',/g)].map(([, name]) => name!);

function queryOver(table: string, columns: readonly string[], place: number): string {
  const column = columns[Math.floor(place / 7) % columns.length]!;
  const most = 1 + (Math.floor(place / 3) % 9);
  const queries = [
    `select count(*) from ${table}`,
    `select count(distinct ${column}) from ${table}`,
    `select max(${column}) from ${table}`,
    `select min(${column}) from ${table}`,
    `select distinct ${column} from ${table} order by ${column} limit ${most}`,
    `select ${column}, count(*) from ${table} group by ${column} order by count(*) desc, ${column} limit ${most}`,
    `select count(*) from ${table} where ${column} = (select max(${column}) from ${table})`,
  ];
  return queries[place % queries.length]!;
}

type Tuple = { action: string; observation: string };

function abstract({ messages }: ModelRequest): string {
  const limit = Number(/at most (\d+) in all/.exec(messages[0]!.content)?.[1]);
  const database = /Database: (\w+)/.exec(messages[1]!.content)?.[1];
  const seen = new Map(tuplesOf(messages[1]!.content).map((tuple) => [tuple.action, tuple]));
  const worked = [...seen.values()].filter(
    ({ action, observation }) =>
      action.startsWith('select ') &&
      !action.includes('sqlite_master') &&
      !/^(?:Error|\[\]|\[\(None,\)\])/.test(observation),
  );
  const candidates = worked.slice(0, limit).map(({ action }, index) => ({
    description: `Reads ${database} with one query.`,
    query: requestFor(action, database!),
    actions: [action],
    confidence: Number((0.95 - index / 100).toFixed(2)),
    completionCriterion: 'The answer holds the rows that the query returns.',
  }));
  return `Here they are:\n\`\`\`json\n${JSON.stringify({ candidates }, null, 2)}\n\`\`\``;
}

const tuplesOf = (text: string): Tuple[] =>
  [
    ...text.matchAll(
      /^\[(\d+\.\d+)\] action:\n([^]*?)\n\[\1\] observation:\n([^]*?)(?=\n\n\[\d+\.\d+\] action:|\n<\/runs>)/gm,
    ),
  ].map(([, , action, observation]) => ({ action: action!, observation: observation! }));

/** One wording per query: two tasks with different answers never read alike. */
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
