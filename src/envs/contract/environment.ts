import { z } from 'zod';
import { listOf } from '../../input/list-of';
import { withFunctions, type CallableFunction } from '../../domain/rollout/functions';
import type { ChatMessage } from '../../domain/rollout/turn';

/** Messages of an observation, with the roles that policy servers accept. */
export const messagesSchema = listOf(
  z.object({ role: z.enum(['system', 'user', 'assistant', 'tool']), content: z.string() }),
  10_000,
);

/** Functions that may be called. */
export const toolsSchema = listOf(z.record(z.string(), z.unknown()), 10_000);

/** Answer of the environment to a reset or a step. */
export type Observation = {
  /** A list of callable functions is a message of the role `functions` (`functionsRole`), sent when it has changed. */
  messages: ChatMessage[];
  done: boolean;
  /** In [0, 1]; counts only when `done`. */
  reward: number;
  /** Score so far in [0, 1]; null if the environment has no score before the end. */
  score: number | null;
  rawScore: number | null;
  stopReason: string | null;
};

/** Returns a function that adds an episode's functions to its observations whenever they differ from those before. */
export function functionsAdder(): (
  messages: ChatMessage[],
  functions: CallableFunction[] | null | undefined,
) => ChatMessage[] {
  let latest: string | undefined;
  return (messages, functions) => {
    const listed = functions ? JSON.stringify(functions) : latest;
    if (listed === latest) return messages;
    latest = listed;
    return withFunctions(messages, functions!);
  };
}

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
  /** Owner of the session: our server ends all sessions of a holder at once (`sessionHolder`). */
  holder?: string;
  /** Time that the client gives the attempt: our server ends code that spends more than half of it. */
  seconds?: number;
};

export type OpenEnvironment = (name: string, options: { signal: AbortSignal }) => Promise<EnvironmentSession>;
