import { joinCalls, splitCalls } from '../rollout/split-calls';
import type { Random } from '../random/seeded-random';

export type CorruptionKind =
  | 'dropped-call'
  | 'changed-number'
  | 'changed-text'
  | 'other-task'
  | 'truncated'
  | 'swapped';

export type Corruption = { kind: CorruptionKind; actions: string[] };

/**
 * Returns corrupted versions of reference actions for the calibration of a judge, one of each kind that applies, in random
 * order. Each differs from the original; only the environment can decide whether it fails.
 *
 *   dropped-call    one call is removed
 *   changed-number  one number literal is larger
 *   changed-text    one quoted text is replaced
 *   other-task      the actions of another task
 *   truncated       the calls after a random one are removed; in a single call, the last third of its words
 *   swapped         two neighbouring calls are swapped
 *
 * If there are several actions, the last one ends the attempt (`submit`, a closing message) and stays: no corrupted attempt
 * is merely unfinished.
 *
 * @param others action sequences of other tasks of the environment
 */
export function corruptActions(
  actions: readonly string[],
  others: readonly (readonly string[])[],
  random: Random,
): Corruption[] {
  const versions = Object.entries(corruptors).flatMap(([kind, corrupt]) => {
    const corrupted = corrupt(actions, others, random);
    return corrupted && corrupted.length > 0 && !isSame(corrupted, actions)
      ? [{ kind: kind as CorruptionKind, actions: corrupted }]
      : [];
  });
  return random.shuffle(versions);
}

/** Returns undefined where the kind does not apply. */
type Corruptor = (
  actions: readonly string[],
  others: readonly (readonly string[])[],
  random: Random,
) => string[] | undefined;

const corruptors: Record<CorruptionKind, Corruptor> = {
  'dropped-call': (actions, _, random) => {
    const { calls, end } = callsOf(actions);
    if (calls.length === 0 || (calls.length === 1 && end.length === 0)) return undefined;
    const dropped = random.integer(calls.length);
    return [...actionsOf(calls.filter((_call, i) => i !== dropped)), ...end];
  },
  'changed-number': (actions, _, random) =>
    changeOne(actions, /(?<![\w.'"])\d+(?:\.\d+)?(?![\w.'"])/g, random, (number) =>
      String(Number(number) + 1 + random.integer(9)),
    ),
  'changed-text': (actions, others, random) =>
    changeOne(actions, quoted, random, (text) => {
      const [quote] = text;
      const candidates = others.flat().flatMap((action) => action.match(quoted) ?? []);
      const fit = candidates.filter((candidate) => candidate.startsWith(quote!) && candidate !== text);
      return fit.length > 0 ? fit[random.integer(fit.length)]! : `${text.slice(0, -1)}x${quote}`;
    }),
  'other-task': (actions, others, random) => {
    const fit = others.filter((other) => other.length > 0 && !isSame(other, actions));
    return fit.length > 0 ? [...fit[random.integer(fit.length)]!] : undefined;
  },
  truncated: (actions, _, random) => {
    const { calls, end } = callsOf(actions);
    if (calls.length > 1) return [...actionsOf(calls.slice(0, 1 + random.integer(calls.length - 1))), ...end];
    const words = calls[0]?.text.split(' ') ?? [];
    if (words.length < 3) return undefined;
    return [
      ...actionsOf([{ ...calls[0]!, text: words.slice(0, Math.ceil((words.length * 2) / 3)).join(' ') }]),
      ...end,
    ];
  },
  swapped: (actions, _, random) => {
    const { calls, end } = callsOf(actions);
    if (calls.length < 2) return undefined;
    const first = random.integer(calls.length - 1);
    const texts = calls.map(({ text }) => text);
    [texts[first], texts[first + 1]] = [texts[first + 1]!, texts[first]!];
    return [...actionsOf(calls.map((call, i) => ({ ...call, text: texts[i]! }))), ...end];
  },
};

/** Quoted texts without escapes. */
const quoted = /'[^'\\]+'|"[^"\\]+"/g;

type IndexedCall = { text: string; action: number; listed: boolean };

/** Returns every call with the index of its action; `end` is the action that ends the attempt. */
function callsOf(actions: readonly string[]): { calls: IndexedCall[]; end: string[] } {
  const working = actions.length > 1 ? actions.slice(0, -1) : actions;
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
  if (matches.length === 0) return undefined;
  const { index, from, found } = matches[random.integer(matches.length)]!;
  const changed = `${actions[index]!.slice(0, from)}${change(found)}${actions[index]!.slice(from + found.length)}`;
  return actions.map((action, i) => (i === index ? changed : action));
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((action, i) => action === other[i]);
