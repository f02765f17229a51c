import { createHash } from 'node:crypto';
import { judgeByReference } from '../support/models/reference-judge';
import type { ModelAnswer, ModelRequest, Rule } from '../support/models/scripted-model';
import { askedFor } from '../support/models/sql-explorer';

/** Candidates of one context of exploration, which the explorer tries one after the other. */
export const perContext = 4;

const fates = [
  ...['new', 'duplicate', 'new', 'duplicate', 'new', 'duplicate', 'new', 'duplicate'],
  ...['new', 'new', 'new', 'new', 'new', 'new', 'new', 'new', 'leak', 'leak', 'broken', 'broken'],
] as ('new' | 'duplicate' | 'leak' | 'broken')[];

/** What becomes of the n-th candidate: of every twenty, twelve are new, four repeat, two leak and two do not execute. */
export const fateOf = (n: number): 'new' | 'duplicate' | 'leak' | 'broken' => fates[n % fates.length]!;

type Candidate = { query: string; action: string };

/** The n-th candidate over a table of the database. A leak asks what a held-out task asks, with another query behind. */
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
  const word = (place: number): string => words[Math.floor(n / words.length ** place) % words.length]!;
  return `Tell the ${word(0)} ${word(1)} ${word(2)} tally of ${table}, raised by ${n}.`;
}

/**
 * A language model that explores with a thousand queries, turns each into a candidate task and judges them by their
 * references. Which context is asked about stands in the id of the request; a few first tries go wrong in every way that
 * a provider knows.
 */
export const thousandCandidates =
  (heldOut: () => readonly string[]): Rule =>
  (request) =>
    heldOut().length === 0 ? comeAgain : (accident(request) ?? answerTo(request, heldOut()));

/** Until the held-out tasks are known to whoever asks here, nothing can leak. */
const comeAgain: ModelAnswer = { status: 429, headers: { 'retry-after': '1' } };

function answerTo(request: ModelRequest, heldOut: readonly string[]): ReturnType<Rule> {
  const asked = askedFor(request);
  if (asked === 'other') return judgeByReference()(request);
  const context = Number(/\/random\/(\d+)/.exec(request.id!)![1]);
  if (asked === 'exploration') {
    const step = request.messages.filter(({ role }) => role === 'assistant').length;
    return candidateOf(perContext * context + step, tableIn(request), heldOut).action;
  }
  const candidates = Array.from({ length: perContext }, (_, place) => {
    const { query, action } = candidateOf(perContext * context + place, tableIn(request), heldOut);
    return {
      description: 'Counts rows.',
      ...{ query, actions: [action], confidence: 0.9, completionCriterion: 'The number is returned.' },
    };
  });
  return JSON.stringify({ candidates });
}

/** The first table that the opening names. */
function tableIn({ messages }: ModelRequest): string {
  const text = messages.map(({ content }) => content).join('\n');
  return /Tables: (\w+)\(/.exec(text)![1]!;
}

/** One first try in thirty: overload, a fault, a broken connection, or an answer that is no answer. */
function accident({ id, messages }: ModelRequest): ModelAnswer {
  if (!id!.endsWith('/1')) return undefined;
  const chance = createHash('sha256').update(id!).digest()[0]!;
  const structured = askedFor({ messages }) !== 'exploration';
  switch (chance) {
    case 1:
    case 2:
      return { status: 429, headers: { 'retry-after': '1' } };
    case 3:
    case 4:
      return { status: 500 };
    case 5:
      return { lost: 'computed, charged and never heard' };
    case 6:
    case 7:
      return structured ? 'Certainly! Here is what you asked for.' : undefined;
    default:
      return undefined;
  }
}
