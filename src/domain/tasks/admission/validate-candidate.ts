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
 * Passes if the reference actions reach the goal. The environment's checker has priority over the judge, which decides
 * only for tasks without a checker. In arXiv:2604.15840, section 3.3, the judge always decides, but judges separate good
 * runs from bad ones with an AUROC of at most 0.65 (arXiv:2606.09863). A task whose checker was made from its reference
 * actions passes its replay for any query, so the rule `agreed` also requires the judge's approval.
 */
export function judged(candidate: Candidate, { validation, rule }: AdmissionRules): Finding {
  if (validation === 'off') return pass('validation is off');
  const { reward } = candidate.execution;
  if (reward === null) return judgedByModel(candidate);
  const byEnvironment = judgedByEnvironment(reward, rule);
  return byEnvironment.passed && rule === 'agreed' ? judgedByModel(candidate) : byEnvironment;
}

function judgedByEnvironment(reward: number, rule: AcceptanceRule): Finding {
  if (isSuccess(reward)) return pass('completed', { reward });
  return rule === 'paper' && reward > 0 ? pass('rewarded', { reward }) : fail('reference-fails', { reward });
}

function judgedByModel({ judgement }: Candidate): Finding {
  if (!judgement) return fail('not-judged');
  const detail = { judge: judgement.reason };
  if (judgement.completed === null) return fail('not-judged', detail);
  return judgement.completed ? pass('completed', detail) : fail('not-completed', detail);
}
