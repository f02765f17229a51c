import type { z } from 'zod';
import type { ChatMessage } from '../../domain/rollout/turn';
import { undertakings, type AbstractedTask } from '../../domain/tasks/exploration';
import { abstractionPrompt, type AbstractionInput } from '../../llm/prompts/abstraction';
import { wordingPrompt } from '../../llm/prompts/wording';
import type { CampaignSpec } from '../../specification/campaign-spec';

/** Sends a question to the abstractor; null for an unusable answer. `number` counts the questions about one context, if there are several. */
export type AskAbstractor = <T>(
  prompt: { name: string; version: number; schema: z.ZodType<T> },
  messages: ChatMessage[],
  number?: number,
) => Promise<T | null>;

type Explored = AbstractionInput & {
  /** Solution of the task whose environment was explored. */
  parentActions: readonly string[];
  /** Returns whether the environment makes a task of actions, whatever the request is. */
  isPlayable(actions: string[]): Promise<boolean>;
};

/**
 * Returns at most `limit` tasks that runs show to be possible, by one answer about all of them, or by one answer each: then
 * the actions come from the record, and the model writes the request of those that the environment plays.
 */
export async function writeTasks(
  ask: AskAbstractor,
  { abstraction, minConfidence }: CampaignSpec['synthesis'],
  explored: Explored,
): Promise<{ task: AbstractedTask; number: number }[]> {
  const { limit } = explored;
  if (abstraction === 'actions') return wordActions(ask, explored);
  const answer = await ask(abstractionPrompt, abstractionPrompt.render(explored));
  return (answer?.candidates ?? [])
    .map((task, number) => ({ task, number }))
    .filter(({ task }) => task.confidence >= minConfidence)
    .slice(0, limit);
}

async function wordActions(
  ask: AskAbstractor,
  { runs, limit, length, parentActions, isPlayable, aim: { goal }, opening, observationCharacters, examples }: Explored,
): Promise<{ task: AbstractedTask; number: number }[]> {
  const known = [parentActions, ...examples.map(({ actions }) => actions)];
  const written: { task: AbstractedTask; number: number }[] = [];
  let number = 0;
  for (const steps of undertakings(runs, { length: length.least, known })) {
    const actions = steps.map(({ action }) => action);
    if (number === limit) break;
    if (!(await isPlayable(actions))) continue;
    const messages = wordingPrompt.render({ opening, goal, steps, observationCharacters, examples });
    const answer = await ask(wordingPrompt, messages, number);
    const query = answer?.request;
    if (query !== undefined)
      written.push({
        task: { description: query, query, actions, confidence: null, completionCriterion: null },
        number,
      });
    number += 1;
  }
  return written;
}
