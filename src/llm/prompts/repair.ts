import type { ChatMessage } from '../../domain/rollout/turn';
import { fillTemplate, type Prompt } from './prompt';

export type RepairInput = {
  /** Messages of the original request. */
  messages: readonly ChatMessage[];
  /** The malformed answer. */
  answer: string;
  /** One line per mistake. */
  problems: readonly string[];
};

const template: ChatMessage[] = [
  { role: 'assistant', content: '{{answer}}' },
  {
    role: 'user',
    content: `That answer cannot be used as it stands:
{{problems}}

Give the same answer again, mended in these places and otherwise unchanged: one JSON object, complete, with nothing
before or after it.`,
  },
];

/** Sent once after a malformed answer, with the conversation before it. */
export const repairPrompt: Prompt<RepairInput> = {
  name: 'repair',
  version: 1,
  summary: 'asks for an answer of another shape once more, and quotes what was wrong with it',
  template,
  render: ({ messages, answer, problems }) => [
    ...messages,
    // servers reject an empty message
    ...fillTemplate(template, {
      answer: answer || '(nothing)',
      problems: problems.map((problem) => `- ${problem}`).join('\n'),
    }),
  ],
};
