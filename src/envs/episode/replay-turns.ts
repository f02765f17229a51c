import { sha256 } from '../../files/sha256';
import { CoevolveError } from '../../domain/errors';
import { canonicalJson } from '../../domain/canonical-json';
import { playedAction, type ChatMessage, type RecordedTurn, type StoredTurn } from '../../domain/rollout/turn';
import type { EnvironmentSession, Observation } from '../contract/environment';
import { EnvironmentError } from '../contract/environment-error';

/** Repeatable results of the same actions in a new session: all observations, or only the score. */
export type ReplayChecks = 'observations' | 'score';

/** State of an episode after its recorded turns. `latest` is the last answer; `digest` is null before the first turn. */
export type Replayed = { opening: ChatMessage[]; turns: StoredTurn[]; latest: Observation; digest: string | null };

/** A session differs from the recorded turns: they are discarded, and the attempt restarts. */
export class ReplayMismatch extends CoevolveError {
  override readonly name = 'ReplayMismatch';

  constructor(
    /** The recorded turn, from 1. */
    readonly turn: number,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/**
 * Plays recorded turns in a session that was just reset, and checks each answer. The policy continues from the recorded
 * observations, so its next prompt is the same as in an uninterrupted episode.
 *
 * @param opened answer to the reset
 * @throws ReplayMismatch; EnvironmentError when the session breaks
 */
export async function replayTurns(
  session: Pick<EnvironmentSession, 'step'>,
  opened: Observation,
  recorded: readonly RecordedTurn[],
  checks: ReplayChecks,
): Promise<Replayed> {
  const turns: StoredTurn[] = [];
  let latest = opened;
  let digest: string | null = null;
  for (const [index, turn] of recorded.entries()) {
    const answer = await repeatAction(session, turn);
    digest =
      checks === 'observations' ? digestAfter(turn.action, answer, digest ?? digestOf(latest)) : turn.afterSha256;
    requireSame(turn, answer, checks === 'observations' ? digest === turn.afterSha256 : answer.score === turn.score);
    const { action, bareAction, promptTokenIds, tokenIds, logprobs } = turn;
    const observation = recorded[index + 1]?.shown ?? answer.messages; // the observation that the next action is based on
    turns.push({ action, bareAction, observation, promptTokenIds, tokenIds, logprobs });
    latest = answer;
  }
  return { opening: recorded[0]?.shown ?? opened.messages, turns, latest, digest };
}

/** An action that was accepted once has to be accepted again. */
const repeatAction = (session: Pick<EnvironmentSession, 'step'>, turn: RecordedTurn): Promise<Observation> =>
  session.step(playedAction(turn)).catch((cause: unknown) => {
    if (!(cause instanceof EnvironmentError) || cause.kind !== 'rejected') throw cause;
    const { ordinal } = turn;
    throw new ReplayMismatch(ordinal, `turn ${ordinal} is rejected when it is replayed: ${cause.message}`, { cause });
  });

/** A recorded turn never ended its episode. */
function requireSame({ ordinal, score }: RecordedTurn, answer: Observation, isSame: boolean): void {
  if (answer.done) throw new ReplayMismatch(ordinal, `turn ${ordinal} ends the episode when it is replayed`);
  if (isSame) return;
  const found = answer.score === score ? 'has another observation' : `scores ${answer.score}, not ${score},`;
  throw new ReplayMismatch(ordinal, `turn ${ordinal} ${found} when it is replayed`);
}

/** Returns the sha256 (hex) of the answer to a reset. */
export const digestOf = ({ messages, done }: Observation): string => sha256(canonicalJson([messages, done]));

/** Returns the sha256 (hex) of the episode up to an action's answer: equal only if everything before it is equal. */
export const digestAfter = (action: string, answer: Observation, before: string): string =>
  sha256(canonicalJson([before, action, digestOf(answer)]));
