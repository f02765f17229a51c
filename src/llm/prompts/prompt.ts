import type { z } from 'zod';
import { DomainError } from '../../domain/base/errors';
import type { ChatMessage } from '../../domain/rollout/turn';

/**
 * A prompt under a name and a version. Its `template` has places in double braces; a changed text or schema is a new
 * version, so that a stored call says by its `name@version` what was asked.
 */
export type Prompt<Input> = {
  name: string;
  version: number;
  /** One line for people. */
  summary: string;
  template: readonly ChatMessage[];
  /** Shape of the answer; free text without one. */
  schema?: z.ZodType;
  render(input: Input): ChatMessage[];
};

/** As stored calls name it, such as `reflection@1`. */
export const promptId = ({ name, version }: { name: string; version: number }): string => `${name}@${version}`;

/**
 * Fills the places of a template. Values are put in as they are: double braces in them are text.
 *
 * @throws DomainError `UnfilledPlace` when the template names a place that has no value
 */
export function fillTemplate(template: readonly ChatMessage[], values: Record<string, string>): ChatMessage[] {
  const fill = (text: string): string =>
    text.replaceAll(/\{\{(\w+)\}\}/g, (_, place: string) => {
      const value = values[place];
      if (value === undefined) throw new DomainError('UnfilledPlace', `a prompt has no value for its place ${place}`);
      return value;
    });
  return template.map(({ role, content }) => ({ role, content: fill(content) }));
}
