import { createHash } from 'node:crypto';
import { canonicalJson } from '../../domain/base/canonical-json';
import type { ChatMessage, RecordedTurn, StoredTurn } from '../../domain/rollout/turn';
import type { EnvironmentSession, Observation } from '../base/environment';
import { EnvironmentError } from '../base/environment-error';

/** What the environment promises of the same actions in a fresh session: every observation, or the score alone. */
export type ReplayChecks = 'observations' | 'score';

/** Where an episode stands after its recorded turns. `digest` is null before the first. */
export type Replayed = { opening: ChatMessage[]; turns: StoredTurn[]; seen: Observation; digest: string | null };

/** A session went otherwise than the recorded turns say: they are of no use, and the attempt begins again. */
export class ReplayMismatch extends Error {
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
 * Plays recorded turns in a session that was just reset, and checks each answer. What the policy had been shown stays
 * what it reads on from, so that its next prompt is the one it would have had.
 *
 * @param opened what the reset has shown
 * @throws ReplayMismatch; EnvironmentError when the session breaks
 */
export async function replayTurns(
  session: Pick<EnvironmentSession, 'step'>,
  opened: Observation,
  recorded: readonly RecordedTurn[],
  checks: ReplayChecks,
): Promise<Replayed> {
  const turns: StoredTurn[] = [];
  let seen = opened;
  let digest: string | null = null;
  for (const [index, turn] of recorded.entries()) {
    const answer = await stepAgain(session, turn);
    digest = checks === 'observations' ? digestAfter(turn.action, answer, digest ?? digestOf(seen)) : turn.afterSha256;
    requireSame(turn, answer, checks === 'observations' ? digest === turn.afterSha256 : answer.score === turn.score);
    const { action, promptTokenIds, tokenIds, logprobs } = turn;
    const observation = recorded[index + 1]?.shown ?? answer.messages; // what the next action was an answer to
    turns.push({ action, observation, promptTokenIds, tokenIds, logprobs });
    seen = answer;
  }
  return { opening: recorded[0]?.shown ?? opened.messages, turns, seen, digest };
}

/** What the session took before it must take again. */
const stepAgain = (
  session: Pick<EnvironmentSession, 'step'>,
  { ordinal, action }: RecordedTurn,
): Promise<Observation> =>
  session.step(action).catch((cause: unknown) => {
    if (!(cause instanceof EnvironmentError) || cause.kind !== 'rejected') throw cause;
    throw new ReplayMismatch(ordinal, `turn ${ordinal} is refused when it is replayed: ${cause.message}`, { cause });
  });

/** A recorded turn never ended its episode. */
function requireSame({ ordinal, score }: RecordedTurn, answer: Observation, same: boolean): void {
  if (answer.done) throw new ReplayMismatch(ordinal, `turn ${ordinal} ends the episode when it is replayed`);
  if (same) return;
  const found = answer.score === score ? 'shows other words' : `scores ${answer.score}, not ${score},`;
  throw new ReplayMismatch(ordinal, `turn ${ordinal} ${found} when it is replayed`);
}

/** sha256 hex of what a reset shows. */
export const digestOf = ({ messages, tools, done }: Observation): string =>
  sha256(canonicalJson([messages, tools ?? null, done]));

/** sha256 hex of a whole episode up to an action's answer: equal only where all before it is equal too. */
export const digestAfter = (action: string, answer: Observation, before: string): string =>
  sha256(canonicalJson([before, action, digestOf(answer)]));

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
