import type { ChatMessage } from '../../domain/rollout/turn';

/** What the environment shows after a reset or a step. */
export type Observation = {
  messages: ChatMessage[];
  /** Functions that may be called from now on, where the environment has such; absent when nothing changed. */
  tools?: Record<string, unknown>[];
  done: boolean;
  /** In [0, 1]; counts only when `done`. */
  reward: number;
  /** The score so far in [0, 1], where the environment has one before the end. */
  score: number | null;
  rawScore: number | null;
  stopReason: string | null;
};

/** One episode in one environment. A session is used once: open, reset, step until done, close. */
export type EnvironmentSession = {
  reset(task: ResetRequest): Promise<Observation>;
  step(action: string): Promise<Observation>;
  close(): void;
};

export type ResetRequest = {
  task: Record<string, unknown>;
  seed: number;
  episodeId: string;
  /** Whose the session is: our server ends all sessions of a holder at once (`sessionHolder`). */
  holder?: string;
};

export type OpenEnvironment = (name: string, options: { signal: AbortSignal }) => Promise<EnvironmentSession>;
