import type { Range } from '../../domain/concurrency';
import { DomainError } from '../../domain/errors';
import { trainingJobKey } from '../../domain/campaign/ids';
import type { AgentRole } from '../../domain/roles';
import { activitySizes, type ActivitySizes } from '../../domain/rollout/activity-ranges';
import { isMeasurement, type Purpose } from '../../domain/rollout/trajectory';
import { attemptsPerTask } from '../../specification/iteration-plan';
import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../context/dependencies';

export type RolloutAssignment = ActivitySizes & {
  role: AgentRole;
  policyId: string;
  /** Indices of the plan. */
  range: Range;
  /** True if the policy server holds fewer models than there are assignments: they are played one after the other. */
  inTurn?: true;
};

type Request = IterationKey & { purpose: Purpose; roles: readonly AgentRole[]; step: number };

/**
 * Returns the policy of each role: in an evaluation on dev the policy that this iteration trained, in an RL step the policy of the
 * previous step, otherwise the active policy. An iteration that trained no policy is not evaluated.
 *
 * @throws DomainError `NoPolicy` when a role has no active policy
 */
export const choosePolicies =
  (deps: Dependencies) =>
  async (request: Request): Promise<RolloutAssignment[]> => {
    const { store, policies } = deps;
    const { campaignId, iteration, purpose, step } = request;
    const { name, spec } = await getCampaign(deps, campaignId);
    const active = await store.policies.listActive(campaignId);
    const planned = await store.tasks.countPlanned(request, purpose, step);
    const sizes = activitySizes(attemptsPerTask(spec, purpose));
    const from = Math.max(0, step - 1) * (spec.rollouts.tasksPerStep ?? 0);
    const range = { from, to: from + planned };

    const assignments: RolloutAssignment[] = [];
    for (const role of request.roles) {
      const jobKey = trainingJobKey(name, iteration, role);
      const policyId =
        purpose === 'evaluation'
          ? (await store.trainingRuns.find(jobKey))?.policyId
          : ((await store.rlSteps.findPolicy(jobKey, step - 1)) ?? active[role]);
      if (policyId) assignments.push({ role, policyId, range, ...sizes });
      else if (!isMeasurement(purpose)) throw new DomainError('NoPolicy', `no ${role} policy is active yet`);
    }
    return spec.policy.adapter || assignments.length < 2 ? assignments : inTurn(assignments, await policies.models());
  };

/** @param models count of base models that the policy server holds at once; null means any count */
const inTurn = (assignments: RolloutAssignment[], models: number | null): RolloutAssignment[] =>
  models === null || models >= new Set(assignments.map(({ policyId }) => policyId)).size
    ? assignments
    : assignments.map((assignment) => ({ ...assignment, inTurn: true }));
