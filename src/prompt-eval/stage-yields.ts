import { compareText } from '../domain/compare-text';
import { wilsonInterval, type Interval } from '../domain/evaluation/statistics';
import type { Decision } from '../domain/tasks/admission/admit';
import { statesActions, type AdmissionStage } from '../domain/tasks/admission/candidate';
import { notSeen } from '../activities/synthesize/compose-candidate';
import type { PlayedCandidate } from './play-case';

/**
 * - `parsed`: fraction of model answers, over all purposes, that could be parsed;
 * - `written`: candidates of those that the abstractor may write;
 * - `worded`: the query does not state its actions;
 * - `grounded`: each action was executed in a run;
 * - `executed`: the environment plays the actions in a fresh instance and makes a task of them;
 * - `validated`: a replay with reward 1 and the judge's vote, as by `synthesis.rule: by-author`;
 * - `unique`: no copy of a task of the pool or of another candidate.
 */
export const evalStages = ['parsed', 'written', 'worded', 'grounded', 'executed', 'validated', 'unique'] as const;

export type EvalStage = (typeof evalStages)[number];

/** A share with its Wilson interval of 95 %; `share` is null for none of none. */
export type Yield = { passed: number; of: number; share: number | null } & Interval;

export const yieldOf = (passed: number, of: number): Yield => ({
  passed,
  of,
  share: of === 0 ? null : passed / of,
  ...wilsonInterval(passed, of),
});

export type Fate = { lostAt: EvalStage | null; reason: string | null };

/** Returns the stage at which a candidate was lost, with the reason; null for both if it was admitted. */
export function fateOf({ refused }: Pick<PlayedCandidate, 'refused'>, { reason, trail }: Decision): Fate {
  if (refused?.reason === statesActions) return { lostAt: 'worded', reason: refused.reason };
  if (refused?.reason === notSeen) return { lostAt: 'grounded', reason: notSeen };
  if (refused) return { lostAt: 'executed', reason: refused.reason };
  return reason === null ? { lostAt: null, reason } : { lostAt: stageOf[trail.at(-1)!.stage], reason };
}

const stageOf: Record<AdmissionStage, EvalStage> = {
  worded: 'worded',
  executed: 'executed',
  valid: 'executed',
  judged: 'validated',
  unique: 'unique',
  decontaminated: 'unique',
  diverse: 'unique',
  quota: 'unique',
  'growth-cap': 'unique',
  approved: 'unique', // the cases have no such limit
};

type Counts = { answers: readonly { problem: string | null }[]; wanted: number; fates: readonly Fate[] };

/** Returns one yield per stage, in their order; of candidates among those that passed the stage before. */
export function stageYields({ answers, wanted, fates }: Counts): ({ stage: EvalStage } & Yield)[] {
  let left = fates.length;
  return evalStages.map((stage) => {
    if (stage === 'parsed') return { stage, ...usableOf(answers) };
    if (stage === 'written') return { stage, ...yieldOf(left, wanted) };
    const of = left;
    left -= fates.filter(({ lostAt }) => lostAt === stage).length;
    return { stage, ...yieldOf(left, of) };
  });
}

export const usableOf = (answers: Counts['answers']): Yield =>
  yieldOf(answers.filter(({ problem }) => problem === null).length, answers.length);

/** Returns how often each reason occurs, the most frequent ones first. */
export function countReasons(fates: readonly Fate[]): { stage: EvalStage; reason: string; count: number }[] {
  const counts = new Map<string, { stage: EvalStage; reason: string; count: number }>();
  for (const { lostAt, reason } of fates) {
    if (lostAt === null || reason === null) continue;
    const counted = counts.get(`${lostAt}/${reason}`) ?? { stage: lostAt, reason, count: 0 };
    counts.set(`${lostAt}/${reason}`, { ...counted, count: counted.count + 1 });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count || compareText(a.reason, b.reason));
}
