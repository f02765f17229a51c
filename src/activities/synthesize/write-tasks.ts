import type { z } from 'zod';
import type { ChatMessage } from '../../domain/rollout/turn';
import { undertakings, type AbstractedTask } from '../../domain/tasks/exploration';
import { abstractionPrompt, type AbstractionInput } from '../../llm/prompts/abstraction';
import type { TranscriptTurn } from '../../llm/prompts/transcript';
import { wordingPrompt } from '../../llm/prompts/wording';
import type { CampaignSpec } from '../../specification/campaign-spec';

/** Sends a question to the abstractor; null for an unusable answer. `number`: one of several questions about a context. */
export type AskAbstractor = <T>(
  prompt: { name: string; version: number; schema: z.ZodType<T> },
  messages: ChatMessage[],
  number?: number,
) => Promise<T | null>;

/** `number` counts the tasks of an answer, or the answers about a context. */
type Written = { task: AbstractedTask; number: number };

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
): Promise<Written[]> {
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
): Promise<Written[]> {
  const known = [parentActions, ...examples.map(({ actions }) => actions)];
  const played: TranscriptTurn[][] = [];
  for (const steps of undertakings(runs, { length: length.least, known }))
    if (played.length < limit && (await isPlayable(actionsOf(steps)))) played.push(steps);
  const written: Written[] = [];
  for (const [number, steps] of played.entries()) {
    const messages = wordingPrompt.render({ opening, goal, steps, observationCharacters, examples });
    const query = (await ask(wordingPrompt, messages, number))?.request;
    if (query === undefined) continue;
    const task = { description: query, query, actions: actionsOf(steps), confidence: null, completionCriterion: null };
    written.push({ task, number });
  }
  return written;
}

const actionsOf = (steps: readonly TranscriptTurn[]): string[] => steps.map(({ action }) => action);
