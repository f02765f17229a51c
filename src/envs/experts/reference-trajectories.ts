import { z } from 'zod';
import type { TaskSplit } from '../../domain/rollout/trajectory';
import { withFunctions } from '../../domain/rollout/functions';
import type { ChatMessage } from '../../domain/rollout/turn';
import { callServer } from '../server/call-server';
import type { EnvironmentEndpoint } from '../server/endpoint';
import type { Progress } from '../contract/environment-error';
import { drawUntilDone, type DrawOptions } from '../server/draw-until-done';
import type { ActionForm } from '../../domain/rollout/action-form';

export type ReferenceRequest = {
  split: TaskSplit;
  /** Tasks to draw and play. */
  count: number;
  seed: number;
  options: Record<string, unknown>;
  form: ActionForm;
};

const trajectory = z.object({
  task_id: z.string(),
  pattern: z.string(),
  conversation: z.array(z.object({ role: z.string(), content: z.string() })),
  reward: z.number(),
  turns: z.number(),
  max_turns: z.int().nullable().default(null), // an older server sends none
  characters: z.number(),
  function_characters: z.number(),
  functions: z.array(z.object({ before: z.int(), functions: z.array(z.record(z.string(), z.unknown())) })).default([]), // an older server lists none
});

/**
 * A played episode of reference actions. `reward` is in [0, 1]; `max_turns` is the most actions of an attempt; `characters` counts all messages, and `function_characters`
 * the functions that the episode offers.
 */
export type ReferenceTrajectory = z.infer<typeof trajectory>;

/** Returns the conversation as an attempt stores it: with a message for each list of functions. */
export function conversationWithFunctions({ conversation, functions }: ReferenceTrajectory): ChatMessage[] {
  const starts = [0, ...conversation.flatMap(({ role }, index) => (role === 'assistant' ? [index, index + 1] : []))];
  return starts.flatMap((start, part) => {
    const messages = conversation.slice(start, starts[part + 1]);
    const listed = functions.find(({ before }) => before === start);
    return listed ? withFunctions(messages, listed.functions) : messages;
  });
}

export type PlayOptions = Pick<DrawOptions, 'signal' | 'limits'> & {
  onProgress?: (played: number, drawn?: Progress) => void;
};

const response = z.object({ trajectories: z.array(trajectory) });

const batchSize = 10; // a slow engine plays this many episodes within the timeout of one request

/**
 * Plays the reference actions of drawn tasks on our environment server.
 *
 * @throws the signal's reason; EnvironmentError `rejected` when the environment has no reference actions, or the server rejects the token
 */
export async function playReferenceActions(
  endpoint: EnvironmentEndpoint,
  environment: string,
  request: ReferenceRequest,
  { onProgress = () => undefined, ...options }: PlayOptions = {},
): Promise<ReferenceTrajectory[]> {
  const played: ReferenceTrajectory[] = [];
  for (let start = 0; start < request.count; start += batchSize) {
    const stop = Math.min(start + batchSize, request.count);
    const body = { ...request, start, stop };
    const play = () => callServer(endpoint, `/envs/${environment}/data/gold`, response, body);
    const { trajectories } = await drawUntilDone(play, {
      ...options,
      onProgress: (drawn) => onProgress(played.length, drawn),
    });
    played.push(...trajectories);
    onProgress(played.length);
    if (trajectories.length < stop - start) break; // the environment has no more tasks
  }
  return played;
}
