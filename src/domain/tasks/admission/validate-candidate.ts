import { isSuccess } from '../../rollout/trajectory';
import { fail, pass, type AcceptanceRule, type AdmissionRules, type Candidate, type Finding } from './candidate';

/** Whether the reference actions ran in a fresh environment to an end that could be scored. */
export function executed({ refusal, execution }: Candidate, { validation }: AdmissionRules): Finding {
  if (refusal === 'not-executable') return fail('not-executable', { refused: 'as it was composed' });
  if (validation === 'off') return pass('validation is off');
  return execution.played ? pass('played') : fail('not-executable');
}

/** Whether the environment took it for a task, and an attempt can reach its reference actions. */
export function valid({ refusal, goal, actions }: Candidate, { maxActions }: AdmissionRules): Finding {
  if (refusal !== null) return fail(refusal, { refused: 'as it was composed' });
  if (goal.trim() === '') return fail('no-query');
  if (actions.length === 0 || actions.some((action) => action.trim() === '')) return fail('no-action');
  if (actions.length > maxActions) return fail('too-many-actions', { actions: actions.length, limit: maxActions });
  return pass('well-formed', { actions: actions.length });
}

/**
 * Whether the objective was reached. What the environment verified by replay outranks the judge, which decides where
 * the environment has no checker. In arXiv:2604.15840, section 3.3, the judge decides always; but judges tell good runs
 * from bad ones with an AUROC of 0.65 at most (arXiv:2606.09863). A task whose checker was made from its own reference
 * actions passes its replay whatever its query says: under `agreed` the judge has to agree.
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
  const said = { judge: judgement.reason };
  if (judgement.completed === null) return fail('not-judged', said);
  return judgement.completed ? pass('completed', said) : fail('not-completed', said);
}
