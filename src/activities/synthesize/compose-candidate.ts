import { statesActions } from '../../domain/tasks/admission/candidate';
import { statedAction } from '../../domain/tasks/admission/stated-actions';
import { lengthOf } from './task-length';
import { executedActions, type AbstractedTask } from '../../domain/tasks/exploration';
import { retryWhenUnavailable } from '../../envs/episode/retry-when-unavailable';
import type { Composition, EnvironmentData } from '../../envs/server/environment-data';
import type { CampaignSpec } from '../../specification/campaign-spec';

type Source = {
  spec: CampaignSpec;
  candidate: AbstractedTask;
  /** Minimum actions. */
  least: number;
  /** Definition of the task whose environment was explored. */
  parent: Record<string, unknown>;
  /** Actions of the runs. */
  executed: readonly string[];
};

type Composed = Extract<Composition, { task: unknown }> | { refused: { reason: string; detail: string } };

/** Makes a task of a candidate by executing its actions in a fresh instance of the environment, or returns why it is none. */
export async function composeCandidate(
  data: EnvironmentData,
  signal: AbortSignal,
  { spec, candidate, least, parent, executed }: Source,
): Promise<Composed> {
  const stated = spec.synthesis.validation === 'off' ? undefined : statedAction(candidate.query, candidate.actions);
  if (stated !== undefined) return { refused: { reason: statesActions, detail: `the query states: ${stated}` } };
  const count = lengthOf(candidate.actions);
  if (count < least) return { refused: { reason: tooShort, detail: `${count} of at least ${least} actions` } };
  const seen = executedActions(candidate.actions, executed);
  if ('unseen' in seen) return { refused: { reason: notSeen, detail: `not in any run: ${seen.unseen}` } };
  const composed = await compose(data, signal, { spec, parent, query: candidate.query, actions: seen.actions });
  if ('refused' in composed) return composed;
  const grader = spec.synthesis.grader === 'judge' ? 'judge' : composed.task.grader;
  if (grader === 'judge' && !(await canCalibrate(data, spec)))
    return {
      refused: {
        reason: 'no-grader',
        detail: 'the actions leave no checker, and the judge has no calibration',
      },
    };
  return { task: { ...composed.task, grader } };
}

/** Refusals that no other request would avoid. */
const actionsFail: readonly string[] = [
  'not-executable',
  'empty-result',
  'ambiguous-result',
  'bad-format',
  'no-effect',
];

/** Returns whether the environment makes a task of executed actions, whatever their request is. */
export async function isPlayable(data: EnvironmentData, signal: AbortSignal, work: Work): Promise<boolean> {
  const composed = await compose(data, signal, work);
  return !('refused' in composed && actionsFail.includes(composed.refused.reason));
}

type Work = Pick<Source, 'spec' | 'parent'> & { query: string; actions: string[] };

function compose(data: EnvironmentData, signal: AbortSignal, { spec, ...work }: Work): Promise<Composition> {
  const { name, options, form } = spec.environment;
  return retryWhenUnavailable(signal, () => data.compose(name, { ...work, options, form })); // it needs a session
}

/** Reason of a candidate with fewer actions than the minimum of the spec or its environment. */
export const tooShort = 'too-few-actions';

/** Reason of a candidate with an action that no run executed. */
export const notSeen = 'actions-not-seen';

/** A judge without a calibration grades no attempts: the rollout of its tasks would park the campaign. */
async function canCalibrate(data: EnvironmentData, { environment, judge }: CampaignSpec): Promise<boolean> {
  if (judge.calibrationTasks === 0) return false;
  return environment.experts !== null || (await data.capabilities(environment.name)).gold;
}
