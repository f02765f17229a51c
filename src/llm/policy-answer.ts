import { z } from 'zod';
import { storableText } from '../input/storable';
import { writtenCall } from '../input/written-call';
import { withThinking } from '../domain/rollout/thinking';
import type { SampledAction } from '../domain/rollout/turn';

/** A whole list; `answerProblem` checks its elements faster than a schema. */
const list = z.custom<unknown[]>(Array.isArray);

/** Thinking that a server with a reasoning parser has separated from the content, under one of two names. */
const thinking = z.string().nullish().catch(null);

/** Calls that a server with a tool parser has separated from the content. */
const toolCalls = z
  .array(z.object({ function: z.object({ name: z.string(), arguments: z.string() }) }))
  .nullish()
  .catch(null);

/** Fields of vLLM's dialect of the OpenAI protocol that training needs. */
export const completion = z.object({
  model: z.string().optional(),
  prompt_token_ids: list,
  choices: z.tuple([
    z.object({
      message: z.object({
        content: z.string().nullable(),
        reasoning_content: thinking,
        reasoning: thinking,
        tool_calls: toolCalls,
      }),
      finish_reason: z.string(),
      token_ids: list,
      logprobs: z.object({ content: list.nullish() }).nullish(),
    }),
  ]),
});

export type Completion = z.infer<typeof completion>;

/**
 * Describes why training cannot use the sampled tokens; returns undefined if it can: a prompt, ids below the size of the
 * policy's vocabulary, and one log-probability per sampled id, from `minLogprob` to 0. Only an action without text may
 * have no token: our servers return its end token, others may leave it out.
 *
 * @param vocabulary the size; if it is not known, ids must only fit into their column
 */
export function answerProblem(answer: Completion, vocabulary: number | undefined): string | undefined {
  const { token_ids: tokenIds } = answer.choices[0];
  const logprobs = logprobsOf(answer);
  const ids = [...answer.prompt_token_ids, ...tokenIds];
  const wrongId = ids.findIndex((id) => !isTokenId(id, vocabulary ?? 2 ** 31));
  const limit = vocabulary === undefined ? '2^31' : `${vocabulary}, the size of the policy's vocabulary`;
  if (wrongId >= 0) return `the token id ${shown(ids[wrongId])}, expected a whole number from 0 below ${limit}`;
  if (answer.prompt_token_ids.length === 0) return 'prompt_token_ids with 0 token ids, expected at least one';
  if (tokenIds.length === 0 && toAction(answer).content !== '') return 'a text with 0 token ids, expected at least one';
  if (logprobs.length !== tokenIds.length)
    return `${tokenIds.length} token ids with ${logprobs.length} log-probabilities, expected one for each`;
  const wrong = logprobs.findIndex((value) => !isLogprob(value));
  return wrong < 0
    ? undefined
    : `the log-probability ${shown(logprobs[wrong])}, expected a number from ${minLogprob} to 0`;
}

/** Converts an answer without a problem. Log-probabilities are rounded to the 32-bit floats in which they are stored. */
export function toAction(answer: Completion): SampledAction {
  const { message, finish_reason: finishReason, token_ids: tokenIds } = answer.choices[0];
  const separated = message.reasoning_content || message.reasoning;
  const text = withCalls(message);
  return {
    content: storableText(separated ? withThinking(separated, text) : (text ?? '')),
    finishReason,
    promptTokenIds: answer.prompt_token_ids as number[],
    tokenIds: tokenIds as number[],
    logprobs: (logprobsOf(answer) as number[]).map(Math.fround),
  };
}

/** Returns the text of an action with its separated calls, in the tags of Qwen and Hermes; null without both. */
function withCalls({ content, tool_calls: calls }: Completion['choices'][0]['message']): string | null {
  if (!calls?.length) return content;
  const written = calls.map(({ function: call }) => writtenCall(call.name, call.arguments));
  return [content?.trim(), ...written].filter(Boolean).join('\n');
}

export function logprobsOf({ choices }: Completion): unknown[] {
  const entries = choices[0].logprobs?.content ?? [];
  return entries.map((entry) => (entry as { logprob?: unknown } | null)?.logprob);
}

const isTokenId = (id: unknown, limit: number): boolean =>
  Number.isInteger(id) && (id as number) >= 0 && (id as number) < limit;

const isLogprob = (value: unknown): boolean => typeof value === 'number' && value <= 0 && value >= minLogprob;

/**
 * A sampler with 53 random bits draws no token below -37, or below -74 at temperature 2 where the server reports values of
 * temperature 1. The trainer's ratios, up to exp(80), are finite in 32 bits; -3e38 made the loss of a job NaN.
 */
const minLogprob = -80;

const shown = (value: unknown): string => (typeof value === 'number' ? String(value) : `of type ${typeof value}`);
