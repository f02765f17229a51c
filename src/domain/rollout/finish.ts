import { actionOf } from './action-form';

/**
 * Returns the answer of `finish[<answer>]` in the last lines of an action, also in a fence or in backticks; undefined for
 * other texts.
 */
export function finishedAnswer(text: string): string | undefined {
  const bare = actionOf(text)
    .replace(endTokens, '')
    .replace(/```\w*|`/g, '')
    .trim();
  if (!/\]\.?$/.test(bare)) return undefined; // otherwise the search takes quadratic time
  return /(?:^|\n)[ \t]*finish\s*\[([^]*)\]\.?$/i.exec(bare)?.[1]?.trim();
}

/** Special tokens that end an answer; some servers leave them in its text. */
const endTokens = /(?:<\|\w{1,30}\|>|<\/s>){1,4}\s*$/;

/** True for an action that ends an attempt at a composed task, with or without an answer. */
export const isFinish = (text: string): boolean => finishedAnswer(text) !== undefined;
