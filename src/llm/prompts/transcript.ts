import type { ChatMessage } from '../../domain/rollout/turn';

/** An action and what came back, as a prompt shows them. */
export type ShownTurn = { action: string; observation: readonly ChatMessage[] };

/** Characters of all observations in one prompt: some 12,000 tokens, which fit beside the rest into a context of 32k. */
const observationBudget = 48_000;
const longestObservation = 2_000;
const shortestObservation = 200;
/** Longer than any action that a task could be made of; an action is otherwise shown whole, to be copied. */
const longestAction = 4_000;

/** `numbered(s)` names the step s, from 1. The more steps there are, the less each observation may take. */
export function transcriptOf(
  steps: readonly ShownTurn[],
  numbered: (step: number) => string = String,
  of = steps.length,
): string {
  const limit = Math.max(shortestObservation, Math.min(longestObservation, Math.floor(observationBudget / of)));
  return steps
    .map(({ action, observation }, index) =>
      [
        `[${numbered(index + 1)}] action:`,
        shortened(action, longestAction),
        `[${numbered(index + 1)}] observation:`,
        shownObservation(observation, limit),
      ].join('\n'),
    )
    .join('\n\n');
}

/** What the environment said, without who said it: one text. */
export const shownObservation = (messages: readonly ChatMessage[], limit = longestObservation): string =>
  shortened(messages.map(({ content }) => content).join('\n'), limit) || '(nothing)';

/** The messages with which a session begins; the environment's own instruction is among them. */
export const shownOpening = (opening: readonly ChatMessage[]): string =>
  opening.map(({ role, content }) => `${role}: ${content}`).join('\n');

function shortened(text: string, limit: number): string {
  const left = text.length - limit;
  return left > 0 ? `${text.slice(0, limit)} [... ${left} characters more]` : text;
}
