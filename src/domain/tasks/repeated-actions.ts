import { bareAction } from '../rollout/bare-action';
import { isFinish } from '../rollout/finish';
import type { ChatMessage } from '../rollout/turn';

type Action = { action: string };
type Turn = Action & { observation: readonly ChatMessage[] };

/** Repetitions in a row that end a run. */
const maxRepetitions = 2;

/** Actions that let time pass in a world: they are right again and again, with the same observation each time. */
const waits = /^(?:wait\d*|sleep|rest|pass|noop|no-op)\b/i;

/**
 * Returns whether the last turn of a run shows nothing new: its action, in any case, has been executed before in the run
 * with the same observation. An action with another observation is no repetition, so a world that has changed may be looked
 * at again; nor is waiting, nor an answer after another action.
 */
export function isRepetition(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  if (!last || waits.test(bareAction(last.action))) return false;
  const before = isFinish(last.action) ? turns.slice(-2, -1) : turns.slice(0, -1);
  return before.some((turn) => contentOf(turn) === contentOf(last));
}

/** Returns whether a run only repeats itself: each of its last two turns is a repetition. */
export const isRepeating = (turns: readonly Turn[]): boolean =>
  Array.from({ length: maxRepetitions }, (_, back) => turns.slice(0, turns.length - back)).every(isRepetition);

/**
 * Returns whether a run copies an earlier one of the same context: its actions are the first ones of that run, or all of
 * them, word for word. From the same start they can bring no task to light that the earlier run does not.
 */
export const copiesRun = (turns: readonly Action[], earlier: readonly Action[]): boolean =>
  turns.length > 0 &&
  turns.length <= earlier.length &&
  turns.every(({ action }, index) => bareAction(action) === bareAction(earlier[index]!.action));

const contentOf = ({ action, observation }: Turn): string =>
  [bareAction(action).toLowerCase(), ...observation.map(({ content }) => content)].join('\n');
