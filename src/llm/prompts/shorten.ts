import type { ChatMessage } from '../../domain/rollout/turn';
import { fillTemplate, type Prompt } from './prompt';
import { shortened } from './shortened';

export type ShortenInput = {
  /** Messages of the original request. */
  messages: readonly ChatMessage[];
  /** The answer up to the cut; empty if it was cut off while thinking. */
  answer: string;
};

const template: ChatMessage[] = [
  { role: 'assistant', content: '{{answer}}' },
  {
    role: 'user',
    content: `Your answer reached the limit of its length before it was complete. Answer once more, from the beginning, and short
enough to be complete: think briefly or not at all, leave out whatever the answer can do without, and of a list give only
the best entries.`,
  },
];

/** Sent once after an answer that was cut off, with the conversation before it. */
export const shortenPrompt: Prompt<ShortenInput> = {
  name: 'shorten',
  version: 1,
  summary: 'asks for an answer that was cut off once more, in short',
  template,
  render: ({ messages, answer }) => [
    ...messages,
    // servers reject an empty message
    ...fillTemplate(template, { answer: shortened(answer, maxQuoted) || '(nothing)' }),
  ],
};

/** Characters of the answer to quote. */
const maxQuoted = 2_000;
