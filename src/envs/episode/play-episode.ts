import { bareActionOf } from '../../domain/rollout/thinking';
import {
  playedAction,
  separatedConversationOf,
  type ChatMessage,
  type RecordedTurn,
  type SampledAction,
  type SeparatedMessage,
  type StoredTurn,
} from '../../domain/rollout/turn';
import type { EnvironmentSession, Observation, ResetRequest } from '../contract/environment';
import { digestAfter, digestOf, replayTurns, type ReplayChecks, type Replayed } from './replay-turns';

/** Chooses the action of a turn, from 0; null ends the episode because the context of the policy is full. */
export type ChooseAction = (
  conversation: readonly SeparatedMessage[],
  turn: number,
) => Promise<SampledAction | string | null>;

export type Episode = {
  opening: ChatMessage[];
  turns: StoredTurn[];
  /** In [0, 1]. */
  reward: number;
  rawScore: number | null;
  stopReason: string;
  promptTokens: number;
  completionTokens: number;
};

/** Turns of an interrupted episode, and the callbacks that record further turns in case it is interrupted again. */
export type EpisodeJournal = {
  checks: ReplayChecks;
  /** Recorded turns, in order. */
  turns: readonly RecordedTurn[];
  /** Called once when all recorded turns have been replayed without a mismatch. */
  replayed(turns: number): Promise<void>;
  /** Called after every new turn that does not end the episode. */
  record(turn: RecordedTurn): Promise<void>;
};

type Limits = { maxTurns: number; journal: EpisodeJournal | null };

/** Plays an episode without a journal. */
export const playEpisode = (
  session: EnvironmentSession,
  request: ResetRequest,
  chooseAction: ChooseAction,
  maxTurns: number,
): Promise<Episode> => playJournaledEpisode(session, request, chooseAction, { maxTurns, journal: null });

/**
 * Alternates between actions and observations, after a replay of the journal's turns. An episode that reaches `maxTurns`, or
 * whose policy returns no action, is a failure with reward 0 because the environment did not end it.
 *
 * @throws ReplayMismatch when the session differs from the journal's turns
 */
export async function playJournaledEpisode(
  session: EnvironmentSession,
  request: ResetRequest,
  chooseAction: ChooseAction,
  { maxTurns, journal }: Limits,
): Promise<Episode> {
  const recorded = journal?.turns ?? [];
  const resumed = await replayTurns(session, await session.reset(request), recorded, journal?.checks ?? 'observations');
  if (recorded.length > 0) await journal?.replayed(recorded.length);
  const { opening, turns } = resumed;
  const record = journal && turnRecorder(journal, resumed);
  const conversation = separatedConversationOf({ opening, turns });
  const tokens = { promptTokens: 0, completionTokens: 0 };
  for (const turn of recorded) addTokens(tokens, turn);

  let { latest } = resumed;
  while (!latest.done && turns.length < maxTurns) {
    const chosen = await chooseAction(conversation, turns.length);
    if (chosen === null) return { opening, turns, ...tokens, reward: 0, rawScore: null, stopReason: 'token-limit' };
    const action = separate(chosen);
    addTokens(tokens, action);
    latest = await session.step(playedAction(action));
    const shown = turns.at(-1)?.observation ?? opening;
    turns.push(toTurn(action, latest.messages));
    conversation.push(...separatedConversationOf({ opening: [], turns: turns.slice(-1) }));
    if (!latest.done && turns.length < maxTurns) await record?.({ ...action, ordinal: turns.length }, shown, latest);
  }
  return {
    opening,
    turns,
    ...tokens,
    rawScore: latest.rawScore,
    reward: latest.done ? latest.reward : 0,
    stopReason: latest.done ? (latest.stopReason ?? 'completed') : 'turn-limit',
  };
}

type TokenCounts = Pick<Episode, 'promptTokens' | 'completionTokens'>;
type ActionWithTokens = Omit<StoredTurn, 'observation'> & TokenCounts;

/** Each recorded turn contains digests of everything before it. The reset is hashed only when there is a turn to record. */
function turnRecorder(journal: EpisodeJournal, { digest, latest }: Replayed) {
  let before = digest;
  return (action: ActionWithTokens & { ordinal: number }, shown: ChatMessage[], answer: Observation): Promise<void> => {
    const beforeSha256 = before ?? digestOf(latest);
    const afterSha256 = digestAfter(action.action, answer, beforeSha256);
    before = afterSha256;
    const kept = journal.checks === 'score' ? shown : null;
    return journal.record({ ...action, shown: kept, score: answer.score, beforeSha256, afterSha256 });
  };
}

/** Separates the action from its thinking, and counts the sampled token ids; reference actions have none. */
function separate(action: SampledAction | string): ActionWithTokens {
  if (typeof action === 'string')
    return {
      action,
      bareAction: bareActionOf(action),
      promptTokenIds: null,
      tokenIds: null,
      logprobs: null,
      promptTokens: 0,
      completionTokens: 0,
    };
  const { content, promptTokenIds, tokenIds, logprobs } = action;
  return {
    action: content,
    bareAction: bareActionOf(content),
    promptTokenIds,
    tokenIds,
    logprobs,
    promptTokens: promptTokenIds.length,
    completionTokens: tokenIds.length,
  };
}

function addTokens(sum: TokenCounts, { promptTokens, completionTokens }: TokenCounts): void {
  sum.promptTokens += promptTokens;
  sum.completionTokens += completionTokens;
}

const toTurn = (
  { action, bareAction, promptTokenIds, tokenIds, logprobs }: ActionWithTokens,
  observation: ChatMessage[],
): StoredTurn => ({ action, bareAction, observation, promptTokenIds, tokenIds, logprobs });
