import { bareActionOf } from './thinking';

export type ChatMessage = { role: string; content: string };

/** A message with the `action` in an assistant's content. It is absent where the content is nothing but the action. */
export type SeparatedMessage = ChatMessage & { action?: string };

/** One action of a trajectory with the observation after it. */
export type StoredTurn = {
  /** The text as it was sampled, with its thinking. */
  action: string;
  /** The action apart from its thinking. Is null where the text is nothing but its action. */
  bareAction: string | null;
  observation: ChatMessage[];
  promptTokenIds: number[] | null;
  tokenIds: number[] | null;
  logprobs: number[] | null;
};

type Conversation = {
  opening: readonly ChatMessage[];
  turns: readonly Pick<StoredTurn, 'action' | 'bareAction' | 'observation'>[];
};

/** Returns all messages of a trajectory in their order. */
export const conversationOf = (conversation: Conversation): ChatMessage[] =>
  separatedConversationOf(conversation).map(({ role, content }) => ({ role, content }));

/** Returns all messages of a trajectory in their order, with actions apart from their thinking. */
export const separatedConversationOf = ({ opening, turns }: Conversation): SeparatedMessage[] => [
  ...opening,
  ...turns.flatMap(({ action, bareAction, observation }) => [
    { role: 'assistant', content: action, ...(bareAction !== null && { action: bareAction }) },
    ...observation,
  ]),
];

/** Returns the text that the environment receives. */
export const playedAction = ({ action, bareAction }: Pick<StoredTurn, 'action' | 'bareAction'>): string =>
  bareAction ?? action;

/** Separates the action of a stored turn that release 0.1.0 stored together with its thinking. */
export const separatedTurn = <Turn extends Pick<StoredTurn, 'action' | 'bareAction'>>(turn: Turn): Turn =>
  turn.bareAction === null ? { ...turn, bareAction: bareActionOf(turn.action) } : turn;

/** One action as sampled by the policy server. Training uses these ids and never tokenizes the text again. */
export type SampledAction = {
  content: string;
  finishReason: string;
  promptTokenIds: number[];
  tokenIds: number[];
  /** Natural logarithms, one per sampled token. */
  logprobs: number[];
};

/** A turn of an unfinished attempt in the journal. */
export type RecordedTurn = Omit<StoredTurn, 'observation'> & {
  /** From 1. */
  ordinal: number;
  promptTokens: number;
  completionTokens: number;
  /** Messages before the action; null where a replay shows the same messages. */
  shown: ChatMessage[] | null;
  /** Score after the action; null where the environment scores only at the end. */
  score: number | null;
  /** sha256 in hex of all messages and actions before this action, and after its observation. */
  beforeSha256: string;
  afterSha256: string;
};
