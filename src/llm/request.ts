import type { ModelPurpose } from '../domain/campaign/iteration-plan';
import type { IterationKey } from '../store/database/epoch';
import type { ChatMessage } from '../domain/rollout/turn';

/** One request to a language model. */
export type ModelRequest = {
  key: IterationKey;
  /** Identifies the call within the campaign: a repeated call returns the stored answer without a charge. */
  callId: string;
  purpose: Exclude<ModelPurpose, 'embedding'>;
  /** Name and version of the prompt, such as `reflection@1`, for the record. */
  prompt: string;
  messages: readonly ChatMessage[];
  seed: number;
  signal: AbortSignal;
  /** The answer is used as it is: one that was cut off is not requested again. */
  isFinal?: boolean;
};

/**
 * `cut-off`: the answer reached the limit of the request, or the prompt the context of the model. `thinking` is stored with
 * the call, and is no part of the answer; absent if the model returned none.
 */
export type Reply =
  | { kind: 'text'; text: string; thinking?: string }
  | { kind: 'refused'; reason: string }
  | { kind: 'cut-off'; at: 'limit' | 'context'; text: string; thinking?: string };

/** `callId` names the call with this reply: the request's, or its second one. */
export type FinalReply = Reply & { callId: string };

/** A value that matches the schema, or the failure. `callId` is the call with the final answer. */
export type Structured<T> =
  | { ok: true; value: T; callId: string }
  | { ok: false; failure: 'malformed' | 'refused' | 'cut-off'; detail: string; callId: string };

export type EmbeddingRequest = {
  key: IterationKey;
  callId: string;
  texts: readonly string[];
  signal: AbortSignal;
};
