import { createHash } from 'node:crypto';
import type { ModelRequest, Rule } from './scripted-model';

export type JudgeQuestion = { goal: string; reference: string[]; played: string[]; end: string };

/** What a request asks a judge, or null when it asks for something else; repairs quote the question too. */
export function judgeQuestion({ messages }: Pick<ModelRequest, 'messages'>): JudgeQuestion | null {
  if (!messages[0]?.content.startsWith('You decide whether an agent fulfilled a request')) return null;
  const text = messages[1]!.content;
  const between = (tag: string): string => new RegExp(`<${tag}>\\n([^]*?)\\n</${tag}>`).exec(text)?.[1] ?? '';
  return {
    goal: between('request'),
    reference: between('reference-actions')
      .split(/^\[\d+\] /m)
      .slice(1)
      .map(plain),
    played: [...between('attempt').matchAll(/^\[(\d+)\] action:\n([^]*?)\n\[\1\] observation:/gm)].map(([, , action]) =>
      plain(action!),
    ),
    end: /^End of the attempt: (.*)$/m.exec(text)?.[1] ?? '',
  };
}

/** Completed when the attempt ended in order and did what the reference does, letter by letter but for spaces. */
export const isCompleted = ({ reference, played, end }: JudgeQuestion): boolean =>
  end === 'completed' && JSON.stringify(reference) === JSON.stringify(played);

/** Chances in [0, 1] to say the opposite of what is so. */
export type JudgeErrors = { ofCompleted: number; ofNotCompleted: number };

/**
 * A judge that compares what was played with the reference, and errs as often as it is told: whether it errs follows
 * from the words of the question. What asks for something else is left to `others`.
 */
export const judgeByReference =
  (errors: JudgeErrors = { ofCompleted: 0, ofNotCompleted: 0 }, others: Rule = () => undefined): Rule =>
  (request) => {
    const question = judgeQuestion(request);
    if (!question) return others(request);
    const truth = isCompleted(question);
    const errs = chanceOf(question) < (truth ? errors.ofCompleted : errors.ofNotCompleted);
    return judgeAnswer(truth !== errs, `${question.played.length} of ${question.reference.length} actions`);
  };

/** An answer in the asked shape. */
export function judgeAnswer(completed: boolean, note: string): string {
  const finding = { ok: completed, note };
  return JSON.stringify({
    criteria: {
      ...{ apiMatching: finding, parameters: finding, logicalFlow: finding },
      ...{ finalResult: finding, skippedSteps: finding },
    },
    completed,
    reason: completed ? 'The same actions as the reference.' : 'Not the actions of the reference.',
  });
}

const plain = (action: string): string => action.trim().replace(/\s+/g, ' ');

/** Uniform in [0, 1). */
const chanceOf = (question: JudgeQuestion): number =>
  createHash('sha256').update(JSON.stringify(question)).digest().readUInt32BE() / 2 ** 32;
