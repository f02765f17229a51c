import { z } from 'zod';
import type { ChatMessage } from '../../domain/rollout/turn';
import { functionsAdder, type Observation } from '../contract/environment';
import type { WireObservation } from '../openenv/socket';
import { messagesOf, toolsOf } from './observation';
import type { ThirdPartyServer } from './read-servers';

const composedSchema = z.object({
  query: z.string(),
  /** sha256 of the world's state after the reference actions, in tasks of version 0.1; otherwise null. */
  endState: z.string().nullable(),
  /** What checks attempts since version 0.2: values of the state that the actions changed, and the answer. */
  goal: z
    .object({ facts: z.array(z.tuple([z.string(), z.string()])), answer: z.string().nullable() })
    .nullable()
    .default(null),
});

export type ComposedGoal = NonNullable<z.output<typeof composedSchema>['goal']>;

/** Part of a task's definition: a query in the world of a listed task or a seed, whose own goal no longer counts. */
export type ComposedTask = z.output<typeof composedSchema>;

/** Returns the composed part of a definition; undefined for a task of the server. */
export const composedTaskOf = (definition: Record<string, unknown>): ComposedTask | undefined =>
  composedSchema.optional().parse(definition['composed']);

const replacement = (query: string): string =>
  `Your task is now the following one. It replaces every other task that is stated before or after it:\n${query}`;
const howToFinish =
  'When it is done, answer finish[...] with the answer in the brackets, or finish[] if it asks for none.';

/**
 * Converts the observations of one episode of a composed task, without the server's rewards. The query replaces the field
 * of the server's task if its settings name one, and otherwise stands after the first observation.
 */
export function composedConverter(
  { instruction, taskField }: Pick<ThirdPartyServer, 'instruction' | 'taskField'>,
  query: string,
): (answer: WireObservation) => Observation {
  const addFunctions = functionsAdder();
  let isFirst = true;
  return ({ observation, done }) => {
    const replaced =
      taskField !== undefined && taskField in observation ? { ...observation, [taskField]: query } : observation;
    const messages = addFunctions(messagesOf(replaced), toolsOf(replaced));
    const opening: ChatMessage[] = isFirst && instruction ? [{ role: 'system', content: instruction }] : [];
    const isReplaced = replaced !== observation && messages.some(({ content }) => content.includes(query));
    const shown = isFirst ? withQuery([...opening, ...messages], query, isReplaced) : messages;
    isFirst = false;
    return { messages: shown, done, reward: 0, score: null, rawScore: null, stopReason: null };
  };
}

/** The query stands at the end, where it is the latest task, unless it has replaced the server's task in a message. */
function withQuery(messages: readonly ChatMessage[], query: string, isReplaced: boolean): ChatMessage[] {
  const text = isReplaced ? howToFinish : `${replacement(query)}\n${howToFinish}`;
  const last = messages.at(-1);
  if (last?.role !== 'user') return [...messages, { role: 'user', content: text }];
  return [...messages.slice(0, -1), { ...last, content: `${last.content}\n\n${text}` }]; // templates refuse two in a row
}
