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

/** `parentActions` solve the task whose environment was explored. */
type Explored = AbstractionInput & { parentActions: readonly string[] };

/**
 * Returns at most `limit` tasks that runs show to be possible, by one answer about all of them, or by one answer each: then
 * the actions come from the record, and the model writes their request.
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
  { runs, limit, length, parentActions, aim: { goal }, opening, observationCharacters, examples }: Explored,
): Promise<{ task: AbstractedTask; number: number }[]> {
  const known = [parentActions, ...examples.map(({ actions }) => actions)];
  const written = [];
  for (const [number, steps] of undertakings(runs, { length: length.least, count: limit, known }).entries()) {
    const messages = wordingPrompt.render({ opening, goal, steps, observationCharacters, examples });
    const answer = await ask(wordingPrompt, messages, number);
    if (answer === null) continue;
    const { request } = answer;
    const actions = steps.map(({ action }) => action);
    const task = { description: request, query: request, actions, confidence: null, completionCriterion: null };
    written.push({ task, number });
  }
  return written;
}
