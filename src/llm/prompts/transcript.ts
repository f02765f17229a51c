import { functionsRole } from '../../domain/rollout/functions';
import type { ChatMessage } from '../../domain/rollout/turn';
import { shortened } from './shortened';

/** An action with its observation, as shown in a prompt. */
export type TranscriptTurn = { action: string; observation: readonly ChatMessage[] };

/** Characters of all observations in one prompt: about 12,000 tokens, which leaves room in a context of 32k. */
const observationBudget = 48_000;
/** Default of `synthesis.exploration.observationCharacters`. */
export const defaultObservation = 2_000;
const minObservation = 200;
/** Longer than any useful action of a task; shorter actions are shown in full, because the model copies them. */
const maxAction = 4_000;

export type TranscriptFormat = {
  /** Names turn n, from 1. */
  label?: (turn: number) => string;
  /** Turns of all transcripts in the prompt, which share the budget of observations. */
  turnCount?: number;
  /** Maximum characters of an observation. */
  observationCharacters: number;
};

/** Formats turns as text. More turns leave fewer characters per observation. */
export function formatTranscript(
  turns: readonly TranscriptTurn[],
  { label = String, turnCount = turns.length, observationCharacters }: TranscriptFormat,
): string {
  const limit = Math.min(observationCharacters, Math.max(minObservation, Math.floor(observationBudget / turnCount)));
  return turns
    .map(({ action, observation }, index) =>
      [
        `[${label(index + 1)}] action:`,
        shortened(action, maxAction),
        `[${label(index + 1)}] observation:`,
        formatObservation(observation, limit),
      ].join('\n'),
    )
    .join('\n\n');
}

/** Returns the contents of an observation's messages as one text, without their roles; functions are never shortened. */
export function formatObservation(messages: readonly ChatMessage[], limit = defaultObservation): string {
  const functions = messages.filter(({ role }) => role === functionsRole);
  const others = messages.filter(({ role }) => role !== functionsRole);
  const text = shortened(others.map(({ content }) => content).join('\n'), limit);
  return [...functions.map(({ content }) => `Functions: ${content}`), text].filter(Boolean).join('\n') || '(nothing)';
}

/** Returns an earlier action in the notation of the prompts. */
export const markedAction = (action: string): string => `<action>${action}</action>`;

/** Returns the first messages of a session, including the environment's instruction, as one text. */
export const formatOpening = (opening: readonly ChatMessage[]): string =>
  opening.map(({ role, content }) => `${role}: ${content}`).join('\n');
