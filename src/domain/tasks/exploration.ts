/** What a model makes of a flagged trajectory (arXiv:2604.15840, section 3.2 and appendix A.7): where to explore, and for what. */
export type Reflection = {
  summary: string;
  failureCause: string;
  instabilityPattern: string;
  focusPatterns: string[];
  explorationObjectives: string[];
  doNotRepeat: string[];
};

/** How an exploration run ended; `finished` means that its session did. Its steps count in every case. */
export type ExplorationOutcome = 'finished' | 'turn-limit' | 'refused' | 'cut-off' | 'environment-fault';

/** Why a model gave nothing to go on with. */
export type ModelFailure = { type: 'malformed' | 'refused' | 'cut-off'; detail: string };

/** A task as a model wrote it down after an exploration (section 3.3). */
export type AbstractedTask = {
  description: string;
  /** What a user would ask for. */
  query: string;
  /** From a fresh session, in order. */
  actions: string[];
  /** In [0, 1]. */
  confidence: number;
  completionCriterion: string;
};

export type ExplorationSize = {
  /** Candidates of the aim together, at most. */
  candidates: number;
  /** Places that are explored for it, at most. */
  contexts: number;
};

type SizeSettings = {
  initialTasks: number | null;
  candidatesPerSignal: number;
  exploration: { contextsPerSignal: number };
};

/** Abstraction draws several tasks from a context; four are a cautious guess for the first pool. */
const initialTasksPerContext = 4;
/** Candidates per wanted task of the first pool: some do not pass validation. */
const initialCandidatesPerTask = 2;

/**
 * How much is synthesized for one aim of an iteration. The random control gets as many candidates from as many contexts
 * as all signals that are on together, so that the two cost the same; the start gets what its first pool needs.
 *
 * @param aim     a feedback signal, or `random`
 * @param signals how many signals are on, >= 0
 */
export function explorationSize(
  { aim, iteration, signals }: { aim: string; iteration: number; signals: number },
  { initialTasks, candidatesPerSignal, exploration: { contextsPerSignal } }: SizeSettings,
): ExplorationSize {
  if (iteration === 0) {
    const wanted = initialTasks ?? 0;
    const contexts = Math.max(Math.ceil(wanted / initialTasksPerContext), contextsPerSignal);
    return bounded({ candidates: wanted * initialCandidatesPerTask, contexts });
  }
  const share = aim === 'random' ? signals : 1;
  return bounded({ candidates: candidatesPerSignal * share, contexts: contextsPerSignal * share });
}

/** A context that may give no candidate is not worth its calls. */
const bounded = ({ candidates, contexts }: ExplorationSize): ExplorationSize => ({
  candidates,
  contexts: Math.min(contexts, candidates),
});

/**
 * The whole number of `total` that falls to one of `parts`: all shares together are `total`, and no two differ by more
 * than 1.
 *
 * @param total an integer >= 0
 * @param parts an integer >= 1
 * @param index in 0..parts-1
 */
export const shareOf = (total: number, parts: number, index: number): number =>
  Math.floor((total * (index + 1)) / parts) - Math.floor((total * index) / parts);

/**
 * The candidate's actions as they were executed, or the first that never was. What follows the last `Action:` counts;
 * code fences, a closing semicolon and the amount of white space do not.
 */
export function executedActions(
  actions: readonly string[],
  executed: Iterable<string>,
): { actions: string[] } | { unseen: string } {
  const seen = new Map<string, string>();
  for (const action of executed) if (!seen.has(bareAction(action))) seen.set(bareAction(action), action);
  const unseen = actions.find((action) => !seen.has(bareAction(action)));
  return unseen === undefined ? { actions: actions.map((action) => seen.get(bareAction(action))!) } : { unseen };
}

const bareAction = (text: string): string =>
  (text.split(/^\s*action\s*:/im).at(-1) ?? text)
    .replaceAll(/^\s*```\w*\s|```\s*$/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/\s*;$/, '');

/** Names of the model calls of a context; a stored call is found by them. */
export const reflectionCallId = (contextId: string): string => `reflect/${contextId}`;
export const explorationCallId = (runId: string, step: number): string => `explore/${runId}/${step}`;
export const abstractionCallId = (contextId: string): string => `abstract/${contextId}`;
