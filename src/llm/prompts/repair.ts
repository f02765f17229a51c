import type { ChatMessage } from '../../domain/rollout/turn';
import { fillTemplate, type Prompt } from './prompt';

export type RepairInput = {
  /** What was asked. */
  messages: readonly ChatMessage[];
  /** What was answered. */
  answer: string;
  /** A line per mistake. */
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

/** Sent once when an answer has not the asked shape, behind the conversation that led to it. */
export const repairPrompt: Prompt<RepairInput> = {
  name: 'repair',
  version: 1,
  summary: 'asks for an answer of another shape once more, and quotes what was wrong with it',
  template,
  render: ({ messages, answer, problems }) => [
    ...messages,
    // servers refuse an empty message
    ...fillTemplate(template, {
      answer: answer || '(nothing)',
      problems: problems.map((problem) => `- ${problem}`).join('\n'),
    }),
  ],
};
