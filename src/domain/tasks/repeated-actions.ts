import { bareAction } from '../rollout/bare-action';
import { isFinish } from '../rollout/finish';
import type { ChatMessage } from '../rollout/turn';

type Action = { action: string };
type Turn = Action & { observation: readonly ChatMessage[] };

/** Repetitions in a row that end a run. */
const maxRepetitions = 2;

/** Actions that let time pass in a world: they are right again and again, with the same observation each time. */
const waits = /^(?:wait\d*|sleep|rest|pass|noop|no-op)\b/i;

/** Follows the last observation of a session whose run goes on in a fresh one. */
export const sessionReplaced = {
  role: 'user',
  content: 'This session has ended. A fresh one is open, as at the beginning: what was done before is undone.',
};

/**
 * Returns whether the last turn of a run shows nothing new: its action, in any case, has been executed before in the session
 * with the same observation, or has ended an earlier session of the run in the same way. An action with another observation
 * is no repetition, so a world that has changed may be looked at again; nor is waiting, nor an answer after another action.
 */
export function isRepetition(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  if (!last || waits.test(bareAction(last.action))) return false;
  const earlier = turns.slice(0, -1);
  const ofSession = endsSession(last) ? earlier : earlier.slice(earlier.findLastIndex(endsSession) + 1);
  const before = isFinish(last.action) ? ofSession.slice(-1) : ofSession;
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

const endsSession = ({ observation }: Turn): boolean =>
  observation.some(({ content }) => content === sessionReplaced.content);

const contentOf = ({ action, observation }: Turn): string =>
  [bareAction(action).toLowerCase(), ...observation.map(({ content }) => content)].join('\n');
