import { DomainError } from '../../domain/base/errors';
import { trainingJobKey } from '../../domain/campaign/ids';
import type { AgentRole } from '../../domain/campaign/roles';
import type { Purpose } from '../../domain/rollout/trajectory';
import type { IterationKey } from '../../store/campaign/iterations';
import { attemptsAtOnce } from './collect-rollouts';
import { getCampaign, type Services } from '../base/dependencies';

export type Players = {
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
export const choosePlayers =
  (services: Services) =>
  async (input: Request): Promise<Players> => {
    const { store } = services;
    const { name, spec } = await getCampaign(services, input.campaignId);
    const heads = await store.policies.heads(input.campaignId);
    const planned = await store.tasks.countPlanned(input, input.purpose, input.step);
    const attempts = input.purpose === 'evaluation' ? 1 : spec.rollouts.attempts;
    const tasksPerActivity = Math.max(1, Math.floor(attemptsAtOnce / attempts));
    const from = Math.max(0, input.step - 1) * (spec.rollouts.tasksPerStep ?? 0);

    const players: Players = [];
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
