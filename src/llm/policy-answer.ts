import { z } from 'zod';
import { withThinking } from '../domain/rollout/thinking';
import type { SampledAction } from '../domain/rollout/turn';

/** A whole list; `problemOf` checks its elements faster than a schema. */
const list = z.custom<unknown[]>(Array.isArray);

/** Thinking that a server with a reasoning parser has separated from the content, under one of two names. */
const thinking = z.string().nullish().catch(null);

/** Fields of vLLM's dialect of the OpenAI protocol that training needs. */
export const completion = z.object({
  model: z.string().optional(),
  prompt_token_ids: list,
  choices: z.tuple([
    z.object({
      message: z.object({ content: z.string().nullable(), reasoning_content: thinking, reasoning: thinking }),
      finish_reason: z.string(),
      token_ids: list,
      logprobs: z.object({ content: list.nullish() }).nullish(),
    }),
  ]),
});

export type Completion = z.infer<typeof completion>;

/**
 * Describes why training cannot use the sampled tokens; returns undefined if it can: ids from 0 below 2^31, and one
 * log-probability per sampled id, a 32-bit float of at most 0.
 */
export function problemOf(answer: Completion): string | undefined {
  const { token_ids: tokenIds } = answer.choices[0];
  const logprobs = logprobsOf(answer);
  const ids = [...answer.prompt_token_ids, ...tokenIds];
  const wrongId = ids.findIndex((id) => !isTokenId(id));
  if (wrongId >= 0) return `the token id ${shown(ids[wrongId])}, expected a whole number from 0 below 2^31`;
  if (logprobs.length !== tokenIds.length)
    return `${tokenIds.length} token ids with ${logprobs.length} log-probabilities, expected one for each`;
  const wrong = logprobs.findIndex((value) => !isLogprob(value));
  return wrong < 0 ? undefined : `the log-probability ${shown(logprobs[wrong])}, expected a finite number of at most 0`;
}

/** Converts an answer without a problem. Log-probabilities are rounded to the 32-bit floats in which they are stored. */
export function toAction(answer: Completion): SampledAction {
  const { message, finish_reason: finishReason, token_ids: tokenIds } = answer.choices[0];
  const separated = message.reasoning_content || message.reasoning;
  return {
    content: separated ? withThinking(separated, message.content) : (message.content ?? ''),
    finishReason,
    promptTokenIds: answer.prompt_token_ids as number[],
    tokenIds: tokenIds as number[],
    logprobs: (logprobsOf(answer) as number[]).map(Math.fround),
  };
}

export function logprobsOf({ choices }: Completion): unknown[] {
  const entries = choices[0].logprobs?.content ?? [];
  return entries.map((entry) => (entry as { logprob?: unknown } | null)?.logprob);
}

const isTokenId = (id: unknown): boolean => Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31;

const isLogprob = (value: unknown): boolean =>
  typeof value === 'number' && value <= 0 && Number.isFinite(Math.fround(value));

const shown = (value: unknown): string => (typeof value === 'number' ? String(value) : `of type ${typeof value}`);
