import { isSuccess } from '../../rollout/trajectory';
import { fail, pass, type AcceptanceRule, type AdmissionRules, type Candidate, type Finding } from './candidate';

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
  const votes = rule === 'by-author' ? (candidate.author === 'model' ? 'agreed' : 'paper') : rule;
  const byEnvironment = judgedByEnvironment(reward, votes);
  return byEnvironment.passed && votes === 'agreed' ? judgedByModel(candidate) : byEnvironment;
}

function judgedByEnvironment(reward: number, votes: Exclude<AcceptanceRule, 'by-author'>): Finding {
  if (isSuccess(reward)) return pass('completed', { reward });
  return votes === 'paper' && reward > 0 ? pass('rewarded', { reward }) : fail('reference-fails', { reward });
}

function judgedByModel({ judgement }: Candidate): Finding {
  if (!judgement) return fail('not-judged');
  const detail = { judge: judgement.reason };
  if (judgement.completed === null) return fail('not-judged', detail);
  return judgement.completed ? pass('completed', detail) : fail('not-completed', detail);
}
