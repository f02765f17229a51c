import type { ChatMessage, RecordedTurn, SampledAction, StoredTurn } from '../../domain/rollout/turn';
import type { EnvironmentSession, Observation, ResetRequest } from '../base/environment';
import { digestAfter, digestOf, replayTurns, type ReplayChecks, type Replayed } from './replay-turns';

/** Chooses the next action; null ends the episode because the player can say no more (its context is full). */
export type ChooseAction = (
  conversation: readonly ChatMessage[],
  step: number,
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

/** Where an episode begins that was interrupted, and what keeps its turns in case it is interrupted again. */
export type EpisodeJournal = {
  checks: ReplayChecks;
  /** Played before, in order. */
  turns: readonly RecordedTurn[];
  /** Told once when the turns have been replayed and nothing went otherwise. */
  replayed(turns: number): Promise<void>;
  /** Told of every turn that leaves the episode open. */
  record(turn: RecordedTurn): Promise<void>;
};

type Limits = { maxTurns: number; journal: EpisodeJournal | null };

/** Plays an episode that nothing is kept of until it ends. */
export const playEpisode = (
  session: EnvironmentSession,
  request: ResetRequest,
  play: ChooseAction,
  maxTurns: number,
): Promise<Episode> => playJournaledEpisode(session, request, play, { maxTurns, journal: null });

/**
 * The observe-act loop: knows neither database nor Temporal. An episode that reaches `maxTurns`, or whose player falls
 * silent, is a failure with reward 0: the environment never called it done.
 *
 * @throws ReplayMismatch when the session goes otherwise than the journal's turns say
 */
export async function playJournaledEpisode(
  session: EnvironmentSession,
  request: ResetRequest,
  play: ChooseAction,
  { maxTurns, journal }: Limits,
): Promise<Episode> {
  const recorded = journal?.turns ?? [];
  const begun = await replayTurns(session, await session.reset(request), recorded, journal?.checks ?? 'observations');
  if (recorded.length > 0) await journal?.replayed(recorded.length);
  const { opening, turns } = begun;
  const keep = journal && keeper(journal, begun);
  const conversation = [...opening, ...turns.flatMap(toMessages)];
  const spent = { promptTokens: 0, completionTokens: 0 };
  for (const turn of recorded) count(spent, turn);

  let seen = begun.seen;
  while (!seen.done && turns.length < maxTurns) {
    const action = await play(conversation, turns.length);
    if (action === null) return { opening, turns, ...spent, reward: 0, rawScore: null, stopReason: 'token-limit' };
    const said = saidBy(action);
    count(spent, said);
    seen = await session.step(said.action);
    const shown = turns.at(-1)?.observation ?? opening;
    turns.push(toStep(said, seen.messages));
    conversation.push(...toMessages(turns.at(-1)!));
    if (!seen.done && turns.length < maxTurns) await keep?.({ ...said, ordinal: turns.length }, shown, seen);
  }
  return {
    ...{ opening, turns, ...spent, rawScore: seen.rawScore, reward: seen.done ? seen.reward : 0 },
    stopReason: seen.done ? (seen.stopReason ?? 'completed') : 'turn-limit',
  };
}

/** What the player said in a turn. */
type Said = Omit<StoredTurn, 'observation'> & { promptTokens: number; completionTokens: number };

/** Hands turns to the journal, each bound to all before it. The reset is digested only once there is a turn to keep. */
function keeper(journal: EpisodeJournal, { digest, seen }: Replayed) {
  let before = digest;
  return (said: Said & { ordinal: number }, shown: ChatMessage[], answer: Observation): Promise<void> => {
    const beforeSha256 = before ?? digestOf(seen);
    const afterSha256 = digestAfter(said.action, answer, beforeSha256);
    before = afterSha256;
    const kept = journal.checks === 'score' ? shown : null;
    return journal.record({ ...said, shown: kept, score: answer.score, beforeSha256, afterSha256 });
  };
}

const toMessages = ({ action, observation }: StoredTurn): ChatMessage[] => [
  { role: 'assistant', content: action },
  ...observation,
];

/** Tokens are counted by the ids that were sampled; reference actions have none. */
function saidBy(action: SampledAction | string): Said {
  if (typeof action === 'string')
    return { action, promptTokenIds: null, tokenIds: null, logprobs: null, promptTokens: 0, completionTokens: 0 };
  const { content, promptTokenIds, tokenIds, logprobs } = action;
  return {
    ...{ action: content, promptTokenIds, tokenIds, logprobs },
    promptTokens: promptTokenIds.length,
    completionTokens: tokenIds.length,
  };
}

function count(spent: Pick<Episode, 'promptTokens' | 'completionTokens'>, said: Said): void {
  spent.promptTokens += said.promptTokens;
  spent.completionTokens += said.completionTokens;
}

const toStep = ({ action, promptTokenIds, tokenIds, logprobs }: Said, observation: ChatMessage[]): StoredTurn => ({
  ...{ action, observation, promptTokenIds, tokenIds, logprobs },
});
