import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { ModelRequest, Rule } from './scripted-model';

/** Questions about candidates and in calibrations show no reference (`solvedOnce` is empty) and no end (null). */
export type JudgeQuestion = { goal: string; solvedOnce: string[]; played: string[]; end: string | null };

/** Returns the question of a judge request, null for other requests; repair requests also contain it. */
export function judgeQuestion({ messages }: Pick<ModelRequest, 'messages'>): JudgeQuestion | null {
  if (!messages[0]?.content.startsWith('You decide whether an agent fulfilled a request')) return null;
  const text = messages[1]!.content;
  const between = (tag: string): string => new RegExp(`<${tag}>\\n([^]*?)\\n</${tag}>`).exec(text)?.[1] ?? '';
  return {
    goal: between('request'),
    solvedOnce: between('solved-once')
      .split(/^\[\d+\] /m)
      .slice(1)
      .map(plain),
    played: [...between('attempt').matchAll(/^\[(\d+)\] action:\n([^]*?)\n\[\1\] observation:/gm)].map(([, , action]) =>
      plain(action!),
    ),
    end: /^End of the attempt: (.*)$/m.exec(text)?.[1] ?? null,
  };
}

/** Table of right answers: returns the action sequences that fulfil the request of a question. */
export type KnownAnswers = (question: JudgeQuestion) => ActionLists | Promise<ActionLists>;
type ActionLists = readonly (readonly string[])[];

/** Known answers to the requests of stored seed tasks: their reference actions. */
export const seedAnswers =
  (pool: () => Pool): KnownAnswers =>
  async ({ goal }) => {
    const { rows } = await pool().query<{ actions: string[] }>(
      `select distinct reference_actions as actions from tasks where origin = 'seed' and goal = $1`,
      [goal],
    );
    return rows.map(({ actions }) => actions);
  };

/** Returns whether the attempt consists of one of these action sequences, except for white space, and ended regularly. */
export const isCompleted = ({ played, end }: JudgeQuestion, answers: ActionLists): boolean =>
  (end === null || end === 'completed') &&
  answers.some((actions) => JSON.stringify(actions.map(plain)) === JSON.stringify(played));

/** Probabilities in [0, 1] of a wrong verdict. */
export type JudgeErrors = { ofCompleted: number; ofNotCompleted: number };

/**
 * Judge that compares the played actions with the reference of its question, or with `known` answers if it shows none. It
 * errs with the given probabilities; each error is a function of the question. Other requests go to `others`.
 */
export const judgeByAnswers =
  (
    known: KnownAnswers,
    errors: JudgeErrors = { ofCompleted: 0, ofNotCompleted: 0 },
    others: Rule = () => undefined,
  ): Rule =>
  async (request) => {
    const question = judgeQuestion(request);
    if (!question) return others(request);
    const truth = isCompleted(question, question.solvedOnce.length > 0 ? [question.solvedOnce] : await known(question));
    const isWrong = uniformOf(question) < (truth ? errors.ofCompleted : errors.ofNotCompleted);
    return judgeAnswer(truth !== isWrong, `${question.played.length} actions`);
  };

/** Returns an answer in the requested schema. */
export function judgeAnswer(completed: boolean, note: string): string {
  const finding = { ok: completed, note };
  return JSON.stringify({
    criteria: {
      apiMatching: finding,
      parameters: finding,
      logicalFlow: finding,
      finalResult: finding,
      skippedSteps: finding,
    },
    completed,
    reason: completed ? 'The actions of a known answer.' : 'Not the actions of a known answer.',
  });
}

const plain = (action: string): string => action.trim().replace(/\s+/g, ' ');

/** Returns a uniform number in [0, 1) from a hash of the question. */
const uniformOf = (question: JudgeQuestion): number =>
  createHash('sha256').update(JSON.stringify(question)).digest().readUInt32BE() / 2 ** 32;
