import { compareText } from '../compare-text';
import { groupBy } from '../group-by';
import type { Random } from '../random/seeded-random';
import { mean } from '../evaluation/statistics';
import { distinctAttempts, type AttemptResult } from '../rollout/trajectory';
import { markIteration, policyGroups, type ForgettingSettings, type PolicyGroups } from './detect-forgetting';
import type { FeedbackSettings } from './feedback-settings';
import { feedbackSignalKinds, type FeedbackSignalKind } from './feedback-signal';

/** Tasks with a signal of one kind, beside those that an unchanged policy would have. */
export type SignalRate = {
  kind: FeedbackSignalKind;
  /** Tasks with a scored attempt in the iteration. */
  played: number;
  flagged: number;
  /** Mean number of flagged tasks over the permutations. */
  unchanged: number;
  permutations: number;
};

type FlaggedTasks = Record<FeedbackSignalKind, number>;

type Outcome = { reward: number; isRare: boolean };

/** An attempt with the outcome that a permutation gives it, at first its own. */
type Slot = AttemptResult & { outcome: Outcome };

/** The attempts of some tasks, or of all tasks of a type, in the iteration and the window before it. */
export type RatedTasks = {
  /** The attempts of each agent at each task, which exchange their outcomes. */
  windows: Slot[][];
  /** Tests of forgetting. */
  scopes: PolicyGroups<Slot>[];
  /** The attempts of each policy at each task in the iteration. */
  played: Slot[][];
};

/**
 * Returns the attempts of some tasks as `rateSignals` reads them.
 *
 * @param attempts attempts of the iteration and before it, in any order
 * @param now      the iteration
 * @param isRare   true for an attempt with a rare pattern, by the counts of the iteration
 */
export function ratedTasks<T extends AttemptResult>(
  attempts: readonly T[],
  now: number,
  isRare: (attempt: T) => boolean,
  settings: ForgettingSettings,
): RatedTasks {
  const windows = windowsOf(attempts, now, settings).map((window) =>
    window.map((attempt): Slot => {
      const { trajectoryId, taskId, taskType, iteration, policyId, role, reward } = attempt;
      const outcome = { reward, isRare: isRare(attempt) };
      const slot: Slot = { trajectoryId, taskId, iteration, attempt: attempt.attempt, policyId, role, reward, outcome };
      if (taskType !== undefined) slot.taskType = taskType;
      return slot;
    }),
  );
  const slots = windows.flat().sort((a, b) => compareText(a.trajectoryId, b.trajectoryId));
  const played = groupBy(
    slots.filter(({ iteration }) => iteration === now),
    ({ taskId, role, policyId }) => `${role} ${policyId} ${taskId}`,
  );
  return { windows, scopes: policyGroups(slots, settings), played: [...played.values()] };
}

/**
 * Compares an iteration's flagged tasks with the flagged tasks of a policy that did not change. If it did not, it makes no
 * difference in which iteration of the window an attempt was made: each permutation exchanges the rewards and rare patterns of
 * a task's attempts, and the signals are detected again. The counts of patterns include the whole window, so a permutation
 * changes no pattern's rarity. A generator, so that the caller can pause.
 *
 * @param tasks each task once, in any order
 * @returns     one rate per kind
 */
export function* rateSignals(
  tasks: readonly RatedTasks[],
  settings: FeedbackSettings,
  random: Random,
): Generator<void, SignalRate[]> {
  const windows = tasks.flatMap((some) => some.windows).sort(byFirstAttempt);
  const found = yield* countFlagged(tasks, settings);
  const outcomes = windows.map((slots) => slots.map(({ outcome }) => outcome));
  const attempts = outcomes.reduce((sum, { length }) => sum + length, 0);
  const rounds: FlaggedTasks[] = [];
  for (let round = permutationsFor(attempts); round > 0; round--) {
    for (const [i, slots] of windows.entries()) {
      const dealt = random.shuffle(outcomes[i]!);
      for (const [k, slot] of slots.entries()) slot.outcome = dealt[k]!;
      yield;
    }
    rounds.push(yield* countFlagged(tasks, settings));
  }
  const played = countTasks(tasks.flatMap((some) => some.played.map(([slot]) => slot!)));
  return feedbackSignalKinds.map((kind) => ({
    kind,
    played,
    flagged: found[kind],
    unchanged: mean(rounds.map((flagged) => flagged[kind])),
    permutations: rounds.length,
  }));
}

function* countFlagged(
  tasks: readonly RatedTasks[],
  { forgetting, boundary }: FeedbackSettings,
): Generator<void, FlaggedTasks> {
  const flagged = { forgetting: new Set<string>(), boundary: new Set<string>(), rare: new Set<string>() };
  const now = tasks.flatMap(({ played }) => played)[0]?.[0]?.iteration;
  for (const { scopes, played } of tasks) {
    for (const scope of forgetting.enabled ? scopes : [])
      for (const taskId of forgottenTasks(scope, now, forgetting)) flagged.forgetting.add(taskId);
    for (const slots of played) {
      const { taskId } = slots[0]!;
      if (boundary.enabled && isMixed(slots, boundary.threshold)) flagged.boundary.add(taskId);
      if (slots.some(({ outcome }) => outcome.isRare)) flagged.rare.add(taskId);
    }
    yield;
  }
  return { forgetting: flagged.forgetting.size, boundary: flagged.boundary.size, rare: flagged.rare.size };
}

function forgottenTasks(scope: PolicyGroups<Slot>, now: number | undefined, settings: ForgettingSettings): string[] {
  return scope.groups.flatMap((slots, i) => {
    if (slots[0]!.iteration !== now) return [];
    const marks = markIteration(scope, i, ({ outcome }) => outcome.reward, settings);
    return marks.map(({ index }) => slots[index]!.taskId);
  });
}

const isMixed = (slots: readonly Slot[], threshold: number): boolean =>
  slots.some(({ outcome }) => outcome.reward > threshold) && slots.some(({ outcome }) => outcome.reward < threshold);

/**
 * Returns the attempts of each agent at each task: the iteration's, and the attempts of the `window` policies before it,
 * in an order that does not depend on the input. Tasks that the iteration does not play belong to the history of a type.
 */
function windowsOf<T extends AttemptResult>(
  attempts: readonly T[],
  now: number,
  { window, scope }: ForgettingSettings,
): T[][] {
  const played = new Set(attempts.filter(({ iteration }) => iteration === now).map(keyOf));
  const ordered = distinctAttempts(attempts)
    .filter((attempt) => scope === 'task-type' || played.has(keyOf(attempt)))
    .sort((a, b) => b.iteration - a.iteration); // in the order of their ids within an iteration
  return [...groupBy(ordered, keyOf).values()].map((all) => {
    const before = all.filter(({ iteration }) => iteration < now);
    const policies = groupBy(before, ({ iteration, policyId }) => `${iteration} ${policyId}`);
    return [...all.slice(0, all.length - before.length), ...[...policies.values()].slice(0, window).flat()];
  });
}

const byFirstAttempt = ([a]: readonly Slot[], [b]: readonly Slot[]): number =>
  b!.iteration - a!.iteration || compareText(a!.trajectoryId, b!.trajectoryId);

const keyOf = ({ role, taskId }: AttemptResult): string => `${role} ${taskId}`;

const countTasks = (marked: readonly { taskId: string }[]): number => new Set(marked.map(({ taskId }) => taskId)).size;

/** Bounds the work to some seconds. */
const permutationsFor = (attempts: number): number => Math.max(5, Math.min(50, Math.floor(100_000 / attempts)));
