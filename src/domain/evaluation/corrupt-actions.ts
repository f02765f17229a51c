import { joinCalls, splitCalls } from '../rollout/split-calls';
import type { Random } from '../random/seeded-random';

export type CorruptionKind =
  | 'partial'
  | 'changed-comparison'
  | 'changed-number'
  | 'changed-text'
  | 'changed-command'
  | 'extra-action'
  | 'other-request'
  | 'other-task'
  | 'dropped-call'
  | 'swapped'
  | 'truncated'; // of release 0.1.0

export type Corruption = { kind: CorruptionKind; actions: string[] };

/** Reference actions of the other tasks of an environment. */
export type Donors = {
  /** Of tasks like this one, the most similar first. */
  alike: readonly (readonly string[])[];
  others: readonly (readonly string[])[];
};

/** Parts of a corruption. `closes`: the last action ends the session (`submit`) and is no part of the work. */
type Source = { actions: readonly string[]; closes: boolean };

/**
 * Returns corrupted versions of reference actions for the calibration of a judge, one of each kind that applies. Each
 * differs from the original; only the environment can decide whether it fails. The mistakes that an author or an agent
 * makes come first, in random order:
 *
 *   partial             the last call is missing; of a single statement, its last clause
 *   changed-comparison  one comparison or direction is another one (`>` for `>=`)
 *   changed-number      one number literal is larger
 *   changed-text        one quoted text is replaced
 *   changed-command     one command of plain words is another one with the same verb
 *   extra-action        an action of a similar task is added before the last one
 *   other-request       the right actions of a similar task: the actions stay, and the request is this task's
 *
 * The rest is for actions without these: `other-task` has the actions of any other task, `dropped-call` lacks any call,
 * `swapped` has two neighbouring ones swapped.
 *
 * An action that ends the session stays at the end: no corrupted attempt is merely unfinished.
 */
export function corruptActions(source: Source, donors: Donors, random: Random): Corruption[] {
  const versionsOf = (corruptors: Partial<Record<CorruptionKind, Corruptor>>): Corruption[] =>
    random.shuffle(
      Object.entries(corruptors).flatMap(([kind, corrupt]) => {
        const actions = corrupt(source, donors, random);
        const isNew = actions && actions.length > 0 && !isSame(actions, source.actions);
        return isNew ? [{ kind: kind as CorruptionKind, actions }] : [];
      }),
    );
  const first = random.integer(5) === 0;
  const longer = versionsOf(adding);
  return [...(first ? longer : []), ...versionsOf(hard), ...(first ? [] : longer), ...versionsOf(easy)];
}

/** Returns undefined where the kind does not apply. */
type Corruptor = (source: Source, donors: Donors, random: Random) => string[] | undefined;

const hard: Partial<Record<CorruptionKind, Corruptor>> = {
  partial: (source) => {
    const { calls, end } = callsOf(source);
    if (calls.length > 1) return [...actionsOf(calls.slice(0, -1)), ...end];
    const [only] = calls;
    const shorter = only?.text.replace(lastClause, '');
    return only && shorter !== only.text ? [...actionsOf([{ ...only, text: shorter! }]), ...end] : undefined;
  },
  'changed-comparison': ({ actions }, _, random) => changeOne(actions, comparison, random, (found) => otherOf(found)),
  'changed-number': ({ actions }, _, random) =>
    changeOne(actions, /(?<![\w.'"])\d+(?:\.\d+)?(?![\w.'"])/g, random, (number) =>
      String(Number(number) + 1 + random.integer(9)),
    ),
  'changed-text': ({ actions }, { alike, others }, random) =>
    changeOne(actions, quoted, random, (text) => {
      const [quote] = text;
      const fit = (from: Donors['others']): string[] =>
        from
          .flat()
          .flatMap((action) => action.match(quoted) ?? [])
          .filter((candidate) => candidate.startsWith(quote!) && candidate !== text);
      return oneOf(fit(alike), random) ?? oneOf(fit(others), random) ?? `${text.slice(0, -1)}x${quote}`;
    }),
  'changed-command': ({ actions, closes }, { alike, others }, random) => {
    const verbOf = (action: string): string => action.split(' ', 1)[0]!;
    const fitFrom = (from: Donors['others'], action: string): string[] =>
      from.flat().filter((other) => verbOf(other) === verbOf(action) && other !== action && plainWords.test(other));
    const last = actions.length - (closes ? 1 : 0);
    const fits = actions.slice(0, last).flatMap((action, index) => {
      if (!plainWords.test(action)) return [];
      const from = [[actions], alike, others].map((donors) => fitFrom(donors, action)).find((fit) => fit.length > 0);
      return from ? [{ index, from }] : [];
    });
    const chosen = oneOf(fits, random);
    return chosen && actions.map((action, i) => (i === chosen.index ? oneOf(chosen.from, random)! : action));
  },
  'other-request': ({ actions }, { alike }, random) => copyOf(actions, alike.slice(0, 3), random),
};

/** It comes first for one task of five alone: otherwise the number of actions would give the verdict away. */
const adding: Partial<Record<CorruptionKind, Corruptor>> = {
  'extra-action': ({ actions, closes }, { alike, others }, random) => {
    const working = (sequence: readonly string[]): readonly string[] => (closes ? sequence.slice(0, -1) : sequence);
    const fit = (from: Donors['others']): string[] =>
      from.flatMap(working).filter((action) => !actions.includes(action));
    const added = oneOf(fit(alike), random) ?? oneOf(fit(others), random);
    return added === undefined ? undefined : [...actions.slice(0, -1), added, ...actions.slice(-1)];
  },
};

const easy: Partial<Record<CorruptionKind, Corruptor>> = {
  'other-task': ({ actions }, { others }, random) => copyOf(actions, others, random),
  'dropped-call': (source, _, random) => {
    const { calls, end } = callsOf(source);
    if (calls.length < 2) return undefined;
    const dropped = random.integer(calls.length);
    return [...actionsOf(calls.filter((_call, i) => i !== dropped)), ...end];
  },
  swapped: (source, _, random) => {
    const { calls, end } = callsOf(source);
    if (calls.length < 2) return undefined;
    const first = random.integer(calls.length - 1);
    const texts = calls.map(({ text }) => text);
    [texts[first], texts[first + 1]] = [texts[first + 1]!, texts[first]!];
    return [...actionsOf(calls.map((call, i) => ({ ...call, text: texts[i]! }))), ...end];
  },
};

const copyOf = (actions: readonly string[], from: Donors['others'], random: Random): string[] | undefined => {
  const chosen = oneOf(
    from.filter((other) => other.length > 0 && !isSame(other, actions)),
    random,
  );
  return chosen && [...chosen];
};

/** Returns one of the items, undefined without any. */
const oneOf = <T>(items: readonly T[], random: Random): T | undefined =>
  items.length > 0 ? items[random.integer(items.length)] : undefined;

/** Quoted texts without escapes. */
const quoted = /'[^'\\]+'|"[^"\\]+"/g;

/** A command of a text game. */
const plainWords = /^[a-z][a-z0-9 ,'-]*$/i;

/** The last clause of a statement, up to its end. */
const lastClause =
  /\s+(?:where|and|or|order by|group by|having|limit)\s(?!.*\s(?:where|and|or|order by|group by|having|limit)\s)[^()]*$/is;

const comparison = /(?<=[\w'")\]]\s?)(?:>=|<=|>|<)(?=\s?[\w'"(])|\b(?:asc|desc|max|min)\b/gi;

const opposites: Record<string, string> = {
  '>=': '>',
  '>': '>=',
  '<=': '<',
  '<': '<=',
  asc: 'desc',
  desc: 'asc',
  max: 'min',
  min: 'max',
};

function otherOf(found: string): string {
  const other = opposites[found.toLowerCase()]!;
  return found === found.toUpperCase() ? other.toUpperCase() : other;
}

type IndexedCall = { text: string; action: number; listed: boolean };

/** Returns every call with the index of its action; `end` is the action that ends the session, if there is one. */
function callsOf({ actions, closes }: Source): { calls: IndexedCall[]; end: string[] } {
  const working = closes ? actions.slice(0, -1) : actions;
  const calls = working.flatMap((text, action) => {
    const { calls: parts, listed } = splitCalls(text);
    return parts.map((part) => ({ text: part, action, listed }));
  });
  return { calls, end: actions.slice(working.length) };
}

function actionsOf(calls: readonly IndexedCall[]): string[] {
  const byAction = new Map<number, IndexedCall[]>();
  for (const call of calls) byAction.set(call.action, [...(byAction.get(call.action) ?? []), call]);
  return [...byAction.values()].map((parts) =>
    joinCalls(
      parts.map(({ text }) => text),
      parts[0]!.listed,
    ),
  );
}

function changeOne(
  actions: readonly string[],
  pattern: RegExp,
  random: Random,
  change: (found: string) => string,
): string[] | undefined {
  const matches = actions.flatMap((action, index) =>
    [...action.matchAll(pattern)].map((match) => ({ index, from: match.index, found: match[0] })),
  );
  const chosen = oneOf(matches, random);
  if (!chosen) return undefined;
  const { index, from, found } = chosen;
  const changed = `${actions[index]!.slice(0, from)}${change(found)}${actions[index]!.slice(from + found.length)}`;
  return actions.map((action, i) => (i === index ? changed : action));
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((action, i) => action === other[i]);
