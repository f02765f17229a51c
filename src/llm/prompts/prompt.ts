import type { z } from 'zod';
import { DomainError } from '../../domain/errors';
import type { ChatMessage } from '../../domain/rollout/turn';

/**
 * A prompt with a name and a version. Its `template` has placeholders in double braces. A changed text or schema needs a
 * new version, so that the `name@version` of a stored call identifies the text.
 */
export type Prompt<Input> = {
  name: string;
  version: number;
  /** One line for people. */
  summary: string;
  template: readonly ChatMessage[];
  /** Shape of the answer; without it, free text. */
  schema?: z.ZodType;
  render(input: Input): ChatMessage[];
};

/** Id of requests that are the messages of an environment alone, as a policy reads them. */
export const environmentPrompt = 'environment@1';

/** Id of the prompt in stored calls, such as `reflection@1`. */
export const promptId = ({ name, version }: { name: string; version: number }): string => `${name}@${version}`;

/**
 * Replaces the placeholders of a template. Values are inserted unchanged: double braces in them are text.
 *
 * @throws DomainError `MissingPromptValue` when a placeholder has no value
 */
export function fillTemplate(template: readonly ChatMessage[], values: Record<string, string>): ChatMessage[] {
  const fill = (text: string): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (_, placeholder: string) => {
      const value = values[placeholder];
      if (value === undefined)
        throw new DomainError('MissingPromptValue', `a prompt has no value for {{${placeholder}}}`);
      return value;
    });
  return template.map(({ role, content }) => ({ role, content: fill(content) }));
}
