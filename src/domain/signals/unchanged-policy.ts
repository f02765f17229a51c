import { compareText } from '../compare-text';
import { groupBy } from '../group-by';
import type { Random } from '../random/seeded-random';
import { mean } from '../evaluation/statistics';
import { distinctAttempts, type ScoredAttempt } from '../rollout/trajectory';
import { detectBoundary } from './detect-boundary';
import { detectForgetting, type ForgettingSettings } from './detect-forgetting';
import { detectRare } from './detect-rare';
import type { FeedbackSettings } from './detect-signals';
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

/**
 * Compares an iteration's flagged tasks with the flagged tasks of a policy that did not change. If it did not, it makes no
 * difference in which iteration of the window an attempt was made: each permutation exchanges the rewards and actions of
 * a task's attempts, and all signals are detected again. A generator, so that the caller can pause between permutations.
 *
 * @param current attempts of the iteration
 * @param history attempts stored so far, in any order; may contain `current`
 * @returns       one rate per kind
 */
export function* rateSignals(
  current: readonly ScoredAttempt[],
  history: readonly ScoredAttempt[],
  settings: FeedbackSettings,
  random: Random,
): Generator<void, SignalRate[]> {
  const currentIds = new Set(current.map(({ trajectoryId }) => trajectoryId));
  const windows = windowsOf(current, history, settings.forgetting);
  // The counts of patterns include the whole window, so a permutation changes no pattern's rarity.
  const rare = new Set(detectRare(windows.flat(), history, settings.rare).map(({ trajectoryId }) => trajectoryId));
  const countFlagged = (tasks: readonly Dealt[][]): FlaggedTasks => {
    const attempts = tasks.flat();
    const now = attempts.filter(({ trajectoryId }) => currentIds.has(trajectoryId));
    return {
      forgetting: countTasks(detectForgetting(now, attempts, settings.forgetting)),
      boundary: countTasks(detectBoundary(now, settings.boundary)),
      rare: countTasks(now.filter(({ outcomeOf }) => rare.has(outcomeOf))),
    };
  };

  const found = countFlagged(windows.map((task) => task.map((attempt) => deal(attempt, attempt))));
  const rounds: FlaggedTasks[] = [];
  for (let round = permutationsFor(windows.flat().length); round > 0; round--) {
    yield;
    rounds.push(countFlagged(windows.map((task) => permute(task, random))));
  }
  return feedbackSignalKinds.map((kind) => ({
    kind,
    played: countTasks(current),
    flagged: found[kind],
    unchanged: mean(rounds.map((flagged) => flagged[kind])),
    permutations: rounds.length,
  }));
}

/** An attempt with the reward and the actions of another one of its task. */
type Dealt = ScoredAttempt & { outcomeOf: string };

const deal = (attempt: ScoredAttempt, { reward, actions, trajectoryId }: ScoredAttempt): Dealt => ({
  ...attempt,
  reward,
  actions,
  outcomeOf: trajectoryId,
});

function permute(task: readonly ScoredAttempt[], random: Random): Dealt[] {
  const outcomes = random.shuffle(task);
  return task.map((attempt, i) => deal(attempt, outcomes[i]!));
}

/**
 * Returns the attempts of each agent at each task: the iteration's, and the attempts of the `window` policies before it,
 * in an order that does not depend on the input. Tasks that the iteration does not play belong to the history of a type.
 */
function windowsOf(
  current: readonly ScoredAttempt[],
  history: readonly ScoredAttempt[],
  { window, scope }: ForgettingSettings,
): ScoredAttempt[][] {
  const now = current.reduce((latest, { iteration }) => Math.max(latest, iteration), 0);
  const played = new Set(current.map(keyOf));
  const attempts = distinctAttempts([...history, ...current])
    .filter((attempt) => attempt.iteration <= now && (scope === 'task-type' || played.has(keyOf(attempt))))
    .sort((a, b) => b.iteration - a.iteration || compareText(a.trajectoryId, b.trajectoryId));
  return [...groupBy(attempts, keyOf).values()].map((all) => {
    const before = all.filter(({ iteration }) => iteration < now);
    const policies = groupBy(before, ({ iteration, policyId }) => JSON.stringify([iteration, policyId]));
    return [...all.slice(0, all.length - before.length), ...[...policies.values()].slice(0, window).flat()];
  });
}

const keyOf = ({ role, taskId }: ScoredAttempt): string => JSON.stringify([role, taskId]);

const countTasks = (marked: readonly { taskId: string }[]): number => new Set(marked.map(({ taskId }) => taskId)).size;

/** Bounds the work to a few seconds: 100,000 attempts take about one. */
const permutationsFor = (attempts: number): number => Math.max(5, Math.min(50, Math.floor(100_000 / attempts)));
