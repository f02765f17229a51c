import type { AgentRole } from '../base/roles';
import type { Purpose } from '../rollout/trajectory';

/** Workflow id of a campaign; its iterations, rollouts and training jobs are named below it. */
export const campaignWorkflowId = (name: string): string => `campaign/${name}`;

/** Holder of a campaign's sessions on our environment server, which ends all of them when it is told to. */
export const sessionHolder = (campaignId: number): string => `campaign/${campaignId}`;

/**
 * An iteration of a campaign. A later epoch has ids of its own below it: what Temporal remembers of the earlier one says
 * nothing of what the database holds now.
 */
export const iterationWorkflowId = (name: string, iteration: number, epoch = 1): string =>
  `${campaignWorkflowId(name)}/iteration/${iteration}${epoch > 1 ? `/epoch/${epoch}` : ''}`;

/** Which run of which iteration of which campaign. */
export type IterationName = { name: string; iteration: number; epoch: number };

/** One shard of a rollout. `player` is the agent that acts, or `reference` when the tasks' own actions are played. */
export const rolloutWorkflowId = ({ name, iteration, epoch }: IterationName, shard: RolloutShardName): string => {
  const step = shard.step > 0 ? `/step/${shard.step}` : '';
  return `${iterationWorkflowId(name, iteration, epoch)}/rollout/${shard.purpose}${step}/${shard.player}/${shard.number}`;
};

/** `step` counts the updates of reinforcement learning from 1; 0 elsewhere. */
export type RolloutShardName = { purpose: Purpose; player: AgentRole | 'reference'; step: number; number: number };

/** One shard of the exploration for an aim. */
export const explorationWorkflowId = ({ name, iteration, epoch }: IterationName, aim: string, number: number): string =>
  `${iterationWorkflowId(name, iteration, epoch)}/explore/${aim}/${number}`;

/** Key of a training job: the same job asked for twice is found, not repeated, also by a later epoch. */
export const trainingJobKey = (name: string, iteration: number, role: AgentRole | 'base'): string =>
  `${iterationWorkflowId(name, iteration)}/train/${role}`;

/** The workflow that watches a training job; in the first epoch it has the job's own key. */
export const trainingWorkflowId = ({ name, iteration, epoch }: IterationName, role: AgentRole | 'base'): string =>
  `${iterationWorkflowId(name, iteration, epoch)}/train/${role}`;

/** Derived from what the attempt is, so that a retry finds the finished attempt instead of paying for another. */
export function trajectoryId(attempt: AttemptKey): string {
  const player = attempt.policyId?.slice(0, 12) ?? 'reference';
  return `${attempt.iteration}/${attempt.purpose}/${player}/${attempt.taskId}/${attempt.attempt}`;
}

export type AttemptKey = {
  iteration: number;
  purpose: Purpose;
  policyId: string | null;
  taskId: string;
  attempt: number;
};

export const feedbackSignalId = (iteration: number, kind: string, ordinal: number): string =>
  `${iteration}/${kind}/${ordinal}`;

export const preferencePairId = (iteration: number, forRole: AgentRole, kind: string, ordinal: number): string =>
  `${iteration}/${forRole}/${kind}/${ordinal}`;

/** A candidate task: which iteration asked for it, for which aim, and its place among that aim's candidates. */
export const candidateTaskId = (iteration: number, aim: string, ordinal: number | string): string =>
  `synthesized/${iteration}/${aim}/${ordinal}`;

/** What is explored for an aim; its runs, its abstraction and its model calls are named below it. */
export const explorationContextId = (iteration: number, aim: string, ordinal: number): string =>
  `${iteration}/${aim}/${ordinal}`;

export const explorationRunId = (contextId: string, round: number): string => `${contextId}/run/${round}`;

/** What a candidate was synthesized for, as its id says (`candidateTaskId`); an id of another make is for no signal. */
export const aimOfTask = (taskId: string): string => /^synthesized\/\d+\/([^/]+)\//.exec(taskId)?.[1] ?? 'random';
