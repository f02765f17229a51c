import { separateAction } from '../domain/rollout/separate-action';
import { environmentPrompt, promptId } from './prompts/prompt';
import { prompts } from './prompts';
import { cutOffAt, readStructured } from './read-structured';
import type { Reply } from './request';

/**
 * Result of the parser. A `usable` answer is JSON that matches the schema of the prompt, or an action. An embedding is
 * `unchecked`, and so is the answer to a prompt of another release, whose schema is not known here.
 */
export type CallVerdict = {
  verdict: 'usable' | 'malformed' | 'no-action' | 'refused' | 'cut-off' | 'unchecked';
  /** Mistake in the answer; null for a usable one. */
  problem: string | null;
};

export const isUseless = ({ verdict }: CallVerdict): boolean => verdict !== 'usable' && verdict !== 'unchecked';

type Answered = { prompt: string; answer: unknown };

/** Reads a stored answer with the parser that read it in the campaign. */
export function callVerdict({ prompt, answer }: Answered): CallVerdict {
  if (!isReply(answer)) return { verdict: 'unchecked', problem: null };
  const known: Partial<(typeof prompts)[number]> | undefined =
    prompt === environmentPrompt ? {} : prompts.find((each) => promptId(each) === prompt.split('+')[0]);
  if (!known) return { verdict: 'unchecked', problem: `${prompt} is a prompt of another release` };
  if (known.schema) {
    const read = readStructured(answer, known.schema);
    return read.ok ? usable : { verdict: read.failure, problem: read.problems.join('; ') };
  }
  if (answer.kind === 'refused') return { verdict: 'refused', problem: answer.reason };
  if (answer.kind === 'cut-off') return { verdict: 'cut-off', problem: cutOffAt[answer.at] };
  return separateAction(answer.text).action === ''
    ? { verdict: 'no-action', problem: 'found no action, expected one' }
    : usable;
}

const usable: CallVerdict = { verdict: 'usable', problem: null };

const isReply = (answer: unknown): answer is Reply => typeof answer === 'object' && answer !== null && 'kind' in answer;

/** Returns the text of an answer: the reason of a refusal, and of another one its words. */
export function answerText(answer: unknown): string {
  if (!isReply(answer)) return '';
  return answer.kind === 'refused' ? answer.reason : answer.text;
}

/** Returns the thinking that was stored with an answer; null without any. */
export const answerThinking = (answer: unknown): string | null =>
  isReply(answer) && answer.kind !== 'refused' ? (answer.thinking ?? null) : null;
