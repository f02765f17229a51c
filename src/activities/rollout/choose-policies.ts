import { DomainError } from '../../domain/base/errors';
import { trainingJobKey } from '../../domain/campaign/ids';
import type { AgentRole } from '../../domain/campaign/roles';
import type { Purpose } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import { maxConcurrentAttempts } from './collect-rollouts';
import { getCampaign, type Dependencies } from '../base/dependencies';

export type RolloutAssignments = {
  role: AgentRole;
  policyId: string;
  /** Place of the first task in the plan. */
  from: number;
  tasks: number;
  tasksPerActivity: number;
}[];

type Request = IterationKey & { purpose: Purpose; roles: readonly AgentRole[]; step: number };

/**
 * Who plays: in an evaluation the policies that this iteration trained, in a step of reinforcement learning the policy
 * that the step before left, otherwise those that act now. Where an iteration trained nothing there is nothing new to
 * evaluate.
 */
export const choosePolicies =
  (services: Dependencies) =>
  async (input: Request): Promise<RolloutAssignments> => {
    const { store } = services;
    const { name, spec } = await getCampaign(services, input.campaignId);
    const heads = await store.policies.active(input.campaignId);
    const planned = await store.tasks.countPlanned(input, input.purpose, input.step);
    const attempts = input.purpose === 'evaluation' ? 1 : spec.rollouts.attempts;
    const tasksPerActivity = Math.max(1, Math.floor(maxConcurrentAttempts / attempts));
    const from = Math.max(0, input.step - 1) * (spec.rollouts.tasksPerStep ?? 0);

    const players: RolloutAssignments = [];
    for (const role of input.roles) {
      const jobKey = trainingJobKey(name, input.iteration, role);
      const policyId =
        input.purpose === 'evaluation'
          ? (await store.trainingRuns.find(jobKey))?.policyId
          : ((await store.trainingSteps.policyOf(jobKey, input.step - 1)) ?? heads[role]);
      if (policyId) players.push({ role, policyId, from, tasks: planned, tasksPerActivity });
      else if (input.purpose !== 'evaluation') throw new DomainError('NoPolicy', `no ${role} policy acts yet`);
    }
    return players;
  };
