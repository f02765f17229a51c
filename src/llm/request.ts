import type { ModelPurpose } from '../spec/model-settings';
import type { IterationKey } from '../store/base/epoch';
import type { ChatMessage } from '../store/trajectories/trajectories';

/** What a language model is asked. */
export type ModelRequest = {
  key: IterationKey;
  /** Says what the call is, unique in the campaign: asked again it gives the stored answer, unpaid. */
  callId: string;
  purpose: Exclude<ModelPurpose, 'embedding'>;
  /** Name and version of the prompt, such as `reflection@1`, for the record. */
  prompt: string;
  messages: readonly ChatMessage[];
  seed: number;
  signal: AbortSignal;
  /** Called at least every second while the provider's pace or the answer is waited for: activities heartbeat in it. */
  onWait?: () => void;
};

/** `cut-off`: the answer reached the model's `maxTokens`. */
export type Reply =
  { kind: 'text'; text: string } | { kind: 'refused'; reason: string } | { kind: 'cut-off'; text: string };

/** A value in the asked shape, or why there is none; `callId` is the call whose answer decided it. */
export type Structured<T> =
  | { ok: true; value: T; callId: string }
  | { ok: false; failure: 'malformed' | 'refused' | 'cut-off'; detail: string; callId: string };

export type EmbeddingRequest = {
  key: IterationKey;
  callId: string;
  texts: readonly string[];
  signal: AbortSignal;
  onWait?: () => void;
};
