export type ChatMessage = { role: string; content: string };

/** One action of a trajectory with the observation after it. */
export type StoredTurn = {
  action: string;
  observation: ChatMessage[];
  promptTokenIds: number[] | null;
  tokenIds: number[] | null;
  logprobs: number[] | null;
};

/** Returns all messages of a trajectory in their order. */
export const conversationOf = ({
  opening,
  turns,
}: {
  opening: readonly ChatMessage[];
  turns: readonly Pick<StoredTurn, 'action' | 'observation'>[];
}): ChatMessage[] => [
  ...opening,
  ...turns.flatMap(({ action, observation }) => [{ role: 'assistant', content: action }, ...observation]),
];

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
