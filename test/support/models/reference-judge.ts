import { createHash } from 'node:crypto';
import type { ModelRequest, Rule } from './scripted-model';

export type JudgeQuestion = { goal: string; reference: string[]; played: string[]; end: string };

/** Returns the question of a judge request, null for other requests; repair requests also contain it. */
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

/** Returns whether the attempt ended regularly with the actions of the reference, except for white space. */
export const isCompleted = ({ reference, played, end }: JudgeQuestion): boolean =>
  end === 'completed' && JSON.stringify(reference) === JSON.stringify(played);

/** Probabilities in [0, 1] of a wrong verdict. */
export type JudgeErrors = { ofCompleted: number; ofNotCompleted: number };

/**
 * Judge that compares the played actions with the reference and errs with the given probabilities; each error is a
 * function of the question. Other requests go to `others`.
 */
export const judgeByReference =
  (errors: JudgeErrors = { ofCompleted: 0, ofNotCompleted: 0 }, others: Rule = () => undefined): Rule =>
  (request) => {
    const question = judgeQuestion(request);
    if (!question) return others(request);
    const truth = isCompleted(question);
    const isWrong = uniformOf(question) < (truth ? errors.ofCompleted : errors.ofNotCompleted);
    return judgeAnswer(truth !== isWrong, `${question.played.length} of ${question.reference.length} actions`);
  };

/** Returns an answer in the requested schema. */
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

/** Returns a uniform number in [0, 1) from a hash of the question. */
const uniformOf = (question: JudgeQuestion): number =>
  createHash('sha256').update(JSON.stringify(question)).digest().readUInt32BE() / 2 ** 32;
