import { withFunctionsAsText, withFunctionsAsTools, type Tool } from './functions';
import { withoutEarlierThinking } from './thinking';
import type { ChatMessage } from './turn';

/** How a policy reads a conversation, in its prompts and in the rows that it is trained on. */
export type Reading = {
  /** `drop`: without the thinking of earlier actions. */
  thinking: 'keep' | 'drop';
  /** `template`: in the format of its own chat template. */
  functions: 'text' | 'template';
};

/** Messages as they are sent to a policy, with the functions that are not part of them. */
export type Prompt = { messages: ChatMessage[]; tools?: Tool[] };

export const readingOf = (spec: {
  rollouts: Pick<Reading, 'thinking'>;
  policy: Pick<Reading, 'functions'>;
}): Reading => ({ thinking: spec.rollouts.thinking, functions: spec.policy.functions });

/** Returns the conversation with its functions as the policy reads them; its thinking is unchanged. */
export const withFunctionsFor = (conversation: readonly ChatMessage[], functions: Reading['functions']): Prompt =>
  functions === 'template' ? withFunctionsAsTools(conversation) : { messages: withFunctionsAsText(conversation) };

/** Returns the prompt for the next action. */
export const promptOf = (conversation: readonly ChatMessage[], { thinking, functions }: Reading): Prompt =>
  withFunctionsFor(thinking === 'drop' ? withoutEarlierThinking(conversation) : conversation, functions);
