import { DomainError } from '../domain/errors';
import { trainingJobKey } from '../domain/ids';
import type { AgentRole } from '../domain/roles';
import type { Purpose } from '../domain/trajectory';
import type { IterationKey } from '../store/iterations';
import { attemptsAtOnce } from './collect-rollouts';
import { getCampaign, type Services } from './services';

export type Players = { role: AgentRole; policyId: string; tasks: number; tasksPerActivity: number }[];

/**
 * Who plays: in an evaluation the policies that this iteration trained, otherwise those that act now. Where an
 * iteration trained nothing there is nothing new to evaluate.
 */
export const choosePlayers =
  (services: Services) =>
  async (input: IterationKey & { purpose: Purpose; roles: readonly AgentRole[] }): Promise<Players> => {
    const { store } = services;
    const { name, spec } = await getCampaign(services, input.campaignId);
    const heads = await store.policies.heads(input.campaignId);
    const tasks = await store.tasks.countPlanned(input, input.purpose);
    const attempts = input.purpose === 'evaluation' ? 1 : spec.rollouts.attempts;
    const tasksPerActivity = Math.max(1, Math.floor(attemptsAtOnce / attempts));

    const players: Players = [];
    for (const role of input.roles) {
      const trained = await store.trainingRuns.find(trainingJobKey(name, input.iteration, role));
      const policyId = input.purpose === 'evaluation' ? trained?.policyId : heads[role];
      if (policyId) players.push({ role, policyId, tasks, tasksPerActivity });
      else if (input.purpose !== 'evaluation') throw new DomainError('NoPolicy', `no ${role} policy acts yet`);
    }
    return players;
  };
