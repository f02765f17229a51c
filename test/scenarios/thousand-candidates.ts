import { createHash } from 'node:crypto';
import { judgeByAnswers, type JudgeQuestion, type KnownAnswers } from '../support/models/reference-judge';
import type { ModelAnswer, ModelRequest, Rule } from '../support/models/scripted-model';
import { requestKind } from '../support/models/sql-explorer';

/** Candidates of one exploration context, which the explorer executes one by one. */
export const perContext = 4;

const fates = [
  'new',
  'duplicate',
  'new',
  'duplicate',
  'new',
  'duplicate',
  'new',
  'duplicate',
  'new',
  'new',
  'new',
  'new',
  'new',
  'new',
  'new',
  'new',
  'leak',
  'leak',
  'broken',
  'broken',
] as ('new' | 'duplicate' | 'leak' | 'broken')[];

/** Fate of the n-th candidate: of twenty, twelve are new, four duplicates, two leaks and two not executable. */
export const fateOf = (n: number): 'new' | 'duplicate' | 'leak' | 'broken' => fates[n % fates.length]!;

type Candidate = { query: string; action: string };

/** Returns the n-th candidate for a table. A leak has the question of a held-out task with another query. */
export function candidateOf(n: number, table: string, heldOut: readonly string[]): Candidate {
  const fate = fateOf(n);
  if (fate === 'duplicate') return candidateOf(n - 1, table, heldOut);
  const action = fate === 'broken' ? `select nothing_${n} from ${table}` : `select count(*) + ${n} from ${table}`;
  return {
    action,
    query: fate === 'leak' ? heldOut[2 * Math.floor(n / fates.length) + (n % 2)]! : wordingOf(n, table),
  };
}

const words = 'amber birch cedar delta ember fjord grove haven inlet jetty knoll lagoon'.split(' ');

function wordingOf(n: number, table: string): string {
  const word = (index: number): string => words[Math.floor(n / words.length ** index) % words.length]!;
  return `Return the ${word(0)} ${word(1)} ${word(2)} tally of ${table}, raised by ${n}.`;
}

/**
 * Language model that explores with a thousand queries, turns each into a candidate task and judges runs: those of its
 * candidates by their queries, others by `known`. The id of a request contains its context. A few first requests fail in
 * every way of a provider.
 */
export const thousandCandidates =
  (heldOut: () => readonly string[], known: KnownAnswers): Rule =>
  (request) => {
    if (heldOut().length === 0) return retryLater;
    const judge = judgeByAnswers((question) => ownAnswers(question, heldOut()) ?? known(question));
    return failure(request) ?? answerTo(request, heldOut(), judge);
  };

/** Response until the test has read the held-out tasks, from which the leaks are made. */
const retryLater: ModelAnswer = { status: 429, headers: { 'retry-after': '1' } };

/** Returns the query of the candidate with this goal; undefined if the goal is of no candidate. */
function ownAnswers({ goal, played }: JudgeQuestion, heldOut: readonly string[]): string[][] | undefined {
  const [, n, table] = /^select count\(\*\) \+ (\d+) from (\w+)$/.exec(played[0] ?? '') ?? [];
  if (n === undefined) return undefined;
  const { query, action } = candidateOf(Number(n), table!, heldOut);
  return query === goal ? [[action, 'submit']] : undefined;
}

function answerTo(request: ModelRequest, heldOut: readonly string[], judge: Rule): ReturnType<Rule> {
  const kind = requestKind(request);
  if (kind === 'other') return judge(request);
  const context = Number(/\/random\/(\d+)/.exec(request.id!)![1]);
  if (kind === 'exploration') {
    const step = request.messages.filter(({ role }) => role === 'assistant').length;
    return candidateOf(perContext * context + step, tableIn(request), heldOut).action;
  }
  const candidates = Array.from({ length: perContext }, (_, index) => {
    const { query, action } = candidateOf(perContext * context + index, tableIn(request), heldOut);
    return {
      description: 'Counts rows.',
      query,
      actions: [action],
      confidence: 0.9,
      completionCriterion: 'The number is returned.',
    };
  });
  return JSON.stringify({ candidates });
}

/** Returns the first table of the opening. */
function tableIn({ messages }: ModelRequest): string {
  const text = messages.map(({ content }) => content).join('\n');
  return /Tables: (\w+)\(/.exec(text)![1]!;
}

/** Fails one first request in thirty: rate limit, server error, lost connection, or an invalid answer. */
function failure({ id, messages }: ModelRequest): ModelAnswer {
  if (!id!.endsWith('/1')) return undefined;
  const chance = createHash('sha256').update(id!).digest()[0]!;
  const structured = requestKind({ messages }) !== 'exploration';
  switch (chance) {
    case 1:
    case 2:
      return { status: 429, headers: { 'retry-after': '1' } };
    case 3:
    case 4:
      return { status: 500 };
    case 5:
      return { lost: 'computed, charged and lost' };
    case 6:
    case 7:
      return structured ? 'Certainly! Here are the tasks.' : undefined;
    default:
      return undefined;
  }
}
