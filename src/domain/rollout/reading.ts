import { withFunctionsAsText, withFunctionsAsTools, type Tool } from './functions';
import type { ChatMessage, SeparatedMessage } from './turn';

/** How a policy reads a conversation, in its prompts and in the rows that it is trained on. */
export type Reading = {
  /** With `drop` it reads earlier actions without their thinking, as the templates of Qwen3 and others show them. */
  thinking: 'keep' | 'drop';
  /** With `template` it reads functions in the format of its own chat template. */
  functions: 'text' | 'template';
};

/** Messages as they are sent to a policy, with the functions that are not part of them. */
export type Prompt<Message extends ChatMessage = ChatMessage> = {
  messages: (Message | ChatMessage)[];
  tools?: Tool[];
};

export const readingOf = (spec: {
  rollouts: Pick<Reading, 'thinking'>;
  policy: Pick<Reading, 'functions'>;
}): Reading => ({ thinking: spec.rollouts.thinking, functions: spec.policy.functions });

/** Returns the conversation with its functions as the policy reads them; its thinking is unchanged. */
export const withFunctionsFor = <Message extends ChatMessage>(
  conversation: readonly Message[],
  functions: Reading['functions'],
): Prompt<Message> =>
  functions === 'template' ? withFunctionsAsTools(conversation) : { messages: withFunctionsAsText(conversation) };

/** Returns the prompt for the next action. */
export const promptOf = (conversation: readonly SeparatedMessage[], { thinking, functions }: Reading): Prompt =>
  withFunctionsFor(
    conversation.map(({ role, content, action = content }) => ({
      role,
      content: thinking === 'drop' ? action : content,
    })),
    functions,
  );
