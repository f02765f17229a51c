import { isSuccess } from '../../rollout/trajectory';
import { statedAction } from './stated-actions';
import {
  fail,
  pass,
  statesActions,
  type AcceptanceRule,
  type AdmissionRules,
  type Candidate,
  type Finding,
} from './candidate';

/** Passes if a query of a model does not give its actions away. */
export function worded({ author, goal, actions }: Candidate, { validation }: AdmissionRules): Finding {
  if (author !== 'model') return pass('by the generator');
  if (validation === 'off') return pass('validation is off');
  const action = statedAction(goal, actions);
  return action === undefined ? pass('asks') : fail(statesActions, { action });
}

/** Passes if the reference actions ran in a fresh environment until it could score them. */
export function executed({ refusal, execution }: Candidate, { validation }: AdmissionRules): Finding {
  if (refusal === 'not-executable') return fail('not-executable', { refused: 'at synthesis' });
  if (validation === 'off') return pass('validation is off');
  return execution.played ? pass('played') : fail('not-executable');
}

/** Passes if the environment accepted the task and an attempt has enough actions for its reference actions. */
export function valid({ refusal, goal, actions }: Candidate, { maxActions }: AdmissionRules): Finding {
  if (refusal !== null) return fail(refusal, { refused: 'at synthesis' });
  if (goal.trim() === '') return fail('no-query');
  if (actions.length === 0 || actions.some((action) => action.trim() === '')) return fail('no-action');
  if (actions.length > maxActions) return fail('too-many-actions', { actions: actions.length, limit: maxActions });
  return pass('well-formed', { actions: actions.length });
}

/**
 * Passes if the reference actions answer the query, by the votes that the rule demands. A task whose checker was made from
 * its reference actions passes its replay for any query, so the replay is a verdict on the query only where the
 * environment's generator wrote both (decision 40). The judge decides on tasks without a checker.
 */
export function judged(candidate: Candidate, { validation, rule }: AdmissionRules): Finding {
  if (validation === 'off') return pass('validation is off');
  const { reward } = candidate.execution;
  if (reward === null) return judgedByModel(candidate);
  return votesOf(candidate, rule)
    .map((vote) => vote(candidate, reward))
    .reduce((before, finding) => (before.passed ? finding : before));
}

/**
 * Returns whether the judge's verdict decides about a candidate: the rule counts it, or there is no checker. Where it
 * does, the judge must be trusted.
 */
export const needsJudge = (
  { author, hasChecker }: { author: Candidate['author']; hasChecker: boolean },
  rule: AcceptanceRule,
): boolean => !hasChecker || rule === 'agreed' || (rule === 'by-author' && author === 'model');

type Vote = (candidate: Candidate, reward: number) => Finding;

const replayed: Vote = (_, reward) =>
  isSuccess(reward) ? pass('completed', { reward }) : fail('reference-fails', { reward });

const rewarded: Vote = (candidate, reward) =>
  reward > 0 && !isSuccess(reward) ? pass('rewarded', { reward }) : replayed(candidate, reward);

/**
 * Returns the votes of a rule in the order of their cost: the first that fails is the reason. The solver replaces a judge
 * that is not trusted on queries of a model.
 */
function votesOf({ author, attempts, judgement }: Candidate, rule: AcceptanceRule): readonly Vote[] {
  const isOfModel = author === 'model';
  switch (rule) {
    case 'paper':
      return [rewarded];
    case 'strict':
      return [replayed];
    case 'agreed':
      return [replayed, judgedByModel];
    case 'solvable':
      return isOfModel ? [replayed, solvedAlone] : [replayed];
    case 'by-author':
      if (!isOfModel) return [rewarded];
      if (judgement?.isTrusted === false) return [replayed, solvedAlone];
      return attempts ? [replayed, judgedByModel, solvedAlone] : [replayed, judgedByModel];
  }
}

function judgedByModel({ judgement }: Candidate): Finding {
  if (!judgement) return fail('not-judged');
  const detail = { judge: judgement.reason };
  if (judgement.isTrusted === false) return fail('untrusted-judge', detail);
  if (judgement.completed === null) return fail('not-judged', detail);
  return judgement.completed ? pass('completed', detail) : fail('not-completed', detail);
}

/** A query that every attempt solves is marked: it may be too easy to teach anything. */
function solvedAlone({ attempts }: Candidate): Finding {
  if (!attempts || attempts.scored === 0) return fail('not-attempted');
  const detail = { ...attempts };
  if (attempts.solved === 0) return fail('not-solved', detail);
  return pass(attempts.solved === attempts.scored ? 'trivial' : 'solved', detail);
}
