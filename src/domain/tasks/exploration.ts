import { bareAction } from '../rollout/bare-action';
import { isFinish } from '../rollout/finish';

/** Analysis of a flagged trajectory by a model, with objectives for exploration (arXiv:2604.15840, section 3.2, appendix A.7). */
export type Reflection = {
  summary: string;
  failureCause: string;
  instabilityPattern: string;
  focusPatterns: string[];
  explorationObjectives: string[];
  doNotRepeat: string[];
};

/**
 * How an exploration run ended; `finished` means that the session ended, `repeating` that the run only repeated itself, and
 * `copied` that its actions are those of an earlier run of the context. The turns of every other run are abstracted.
 */
export type ExplorationOutcome =
  | 'finished'
  | 'turn-limit'
  | 'repeating'
  | 'copied'
  | 'refused'
  | 'cut-off'
  | 'environment-fault';

/** Returns the runs from which tasks can be written: they have turns, and are no copies. */
export const abstractable = <R extends { outcome: ExplorationOutcome; turns: readonly unknown[] }>(
  runs: readonly R[],
): R[] => runs.filter(({ outcome, turns }) => turns.length > 0 && outcome !== 'copied');

/** Why a model's answer is unusable. */
export type ModelFailure = { type: 'malformed' | 'refused' | 'cut-off'; detail: string };

/** Task that a model wrote after an exploration (section 3.3). */
export type AbstractedTask = {
  description: string;
  /** The request of a user. */
  query: string;
  /** Actions in order, from the start of a session. */
  actions: string[];
  /** In [0, 1]; null for a task of one worded action. */
  confidence: number | null;
  completionCriterion: string | null;
};

/**
 * Returns the sequences of `length` consecutive actions of the runs, in their order: each may fulfil a request of its own.
 * Left out are answers of the explorer, repeated sequences, and those of `known` solutions, which may have one more action that
 * ends the session.
 */
export function undertakings<T extends { action: string }>(
  runs: readonly (readonly T[])[],
  { length, known }: { length: number; known: readonly (readonly string[])[] },
): T[][] {
  const keyOf = (actions: readonly string[]): string => actions.map(inOneCase).join('\n');
  const seen = new Set(known.filter((all) => all.length <= length + 1).map((all) => keyOf(all.slice(0, length))));
  const sequences = runs.flatMap((run) => {
    const steps = run.filter(({ action }) => action.trim() !== '' && !isFinish(action));
    return steps.slice(length - 1).map((_, start) => steps.slice(start, start + length));
  });
  const isNew = (sequence: readonly T[]): boolean => {
    const key = keyOf(sequence.map(({ action }) => action));
    return !seen.has(key) && Boolean(seen.add(key));
  };
  return sequences.filter(isNew);
}

export type ExplorationSize = {
  /** Max candidates for the aim. */
  candidates: number;
  /** Max contexts that are explored for the aim. */
  contexts: number;
};

type SizeSettings = {
  initialTasks: number | null;
  candidatesPerSignal: number;
  exploration: { contextsPerSignal: number };
};

/** Abstraction makes several tasks from one context; four is a cautious guess for the first pool. */
const initialTasksPerContext = 4;
/** Candidates per task of the first pool: some fail validation. */
const initialCandidatesPerTask = 2;

type SizeOf = {
  /** A feedback signal, or `random`. */
  aim: string;
  iteration: number;
  /** Tasks that each enabled signal flags in the iteration. */
  flagged: readonly number[];
  /** Iterations whose tasks are made in this one; default 1. */
  times?: number;
};

/**
 * Number of candidates and contexts for one aim of an iteration. Without signals the aim `random` gets the total that the
 * signals would get, so that both cost the same. Iteration 0 gets enough candidates for the first pool.
 */
export function explorationSize(
  { aim, iteration, flagged, times = 1 }: SizeOf,
  { initialTasks, candidatesPerSignal, exploration: { contextsPerSignal } }: SizeSettings,
): ExplorationSize {
  if (iteration === 0) {
    const wanted = initialTasks ?? 0;
    const contexts = Math.max(Math.ceil(wanted / initialTasksPerContext), contextsPerSignal);
    return bounded({ candidates: wanted * initialCandidatesPerTask, contexts });
  }
  const perSignal = bounded({ candidates: candidatesPerSignal * times, contexts: contextsPerSignal * times });
  if (aim !== 'random') return perSignal;
  const sizes = flagged
    .filter((tasks) => tasks > 0)
    .map((tasks) => ({ ...perSignal, contexts: Math.min(perSignal.contexts, tasks) }));
  const sum = (unit: keyof ExplorationSize): number => sizes.reduce((total, size) => total + size[unit], 0);
  return { candidates: sum('candidates'), contexts: sum('contexts') };
}

/** Explores no more contexts than there are candidates: a context without a candidate wastes its calls. */
const bounded = ({ candidates, contexts }: ExplorationSize): ExplorationSize => ({
  candidates,
  contexts: Math.min(contexts, candidates),
});

/**
 * Integer share of one of `parts` in `total`. The shares sum to `total` and differ by at most 1.
 *
 * @param total an integer >= 0
 * @param parts an integer >= 1
 * @param index in 0..parts-1
 */
export const shareOf = (total: number, parts: number, index: number): number =>
  Math.floor((total * (index + 1)) / parts) - Math.floor((total * index) / parts);

/**
 * Returns the candidate's actions as they were executed, or the first action that was never executed. They are
 * compared as bare actions; without an equal one, in any case outside quotes: a model writes `SELECT` for the `select` that
 * was executed. The executed text is kept, so an environment that distinguishes cases loses nothing.
 */
export function executedActions(
  actions: readonly string[],
  executed: Iterable<string>,
): { actions: string[] } | { unseen: string } {
  const seen = new Map<string, string>();
  for (const action of executed)
    for (const key of [bareAction(action), inOneCase(action)]) if (!seen.has(key)) seen.set(key, action);
  const found = actions.map((action) => seen.get(bareAction(action)) ?? seen.get(inOneCase(action)));
  const unseen = actions.find((_, index) => found[index] === undefined);
  return unseen === undefined ? { actions: found.filter((action) => action !== undefined) } : { unseen };
}

/** Key of an action in lower case outside quotes. The mark keeps it apart from the keys of bare actions. */
const inOneCase = (action: string): string =>
  `any case: ${bareAction(action).replaceAll(/"[^"]*"|'[^']*'|[^"']+/g, (part) => (/^["']/.test(part) ? part : part.toLowerCase()))}`;

/** Ids of the model calls of a context; a retry finds a stored call by its id. `number`: one of several abstractions. */
export const reflectionCallId = (contextId: string): string => `reflect/${contextId}`;
export const explorationCallId = (runId: string, step: number): string => `explore/${runId}/${step}`;
export const abstractionCallId = (contextId: string, number?: number): string =>
  `abstract/${contextId}${number === undefined ? '' : `/${number}`}`;
