import type { AgentRole } from '../roles';
import type { Purpose } from '../rollout/trajectory';

/** Workflow id of a campaign, and prefix of the ids of its iterations, rollouts and training jobs. */
export const campaignWorkflowId = (name: string): string => `campaign/${name}`;

/** Returns the campaign of a workflow; undefined for a workflow that belongs to none. */
export const campaignOfWorkflow = (workflowId: string): string | undefined =>
  /^campaign\/([^/]+)/.exec(workflowId)?.[1];

/** Holder of a campaign's sessions on our environment server, which can close all sessions of a holder. */
export const sessionHolder = (campaignId: number): string => `campaign/${campaignId}`;

/**
 * Workflow id of an iteration. A later epoch has other ids: the workflows that Temporal recorded for an earlier epoch do
 * not describe the present database.
 */
export const iterationWorkflowId = (name: string, iteration: number, epoch = 1): string =>
  `${campaignWorkflowId(name)}/iteration/${iteration}${epoch > 1 ? `/epoch/${epoch}` : ''}`;

/** Identifies one epoch of an iteration. */
export type IterationName = { name: string; iteration: number; epoch: number };

/** Workflow id of one shard of a rollout. */
export const rolloutWorkflowId = ({ name, iteration, epoch }: IterationName, shard: RolloutShardName): string => {
  const step = shard.step > 0 ? `/step/${shard.step}` : '';
  const refill = shard.refill ? `/refill/${shard.refill}` : '';
  return `${iterationWorkflowId(name, iteration, epoch)}/rollout/${shard.purpose}${step}${refill}/${shard.player}/${shard.number}`;
};

export type RolloutShardName = {
  purpose: Purpose;
  /** The agent that plays, or `reference` for the reference actions of the tasks. */
  player: AgentRole | 'reference';
  /** RL step, from 1; 0 without RL. */
  step: number;
  /** Number of the refill whose candidates are validated; 0 for the first synthesis. */
  refill?: number;
  number: number;
};

/** Workflow id of one shard of the exploration for an aim. */
export const explorationWorkflowId = (
  { name, iteration, epoch }: IterationName,
  aim: string,
  { number, refill }: { number: number; refill: number },
): string =>
  `${iterationWorkflowId(name, iteration, epoch)}/explore/${aim}/${refill > 0 ? `refill/${refill}/` : ''}${number}`;

/** Key of a training job. It has no epoch, so a later epoch finds a finished job instead of repeating it. */
export const trainingJobKey = (name: string, iteration: number, role: AgentRole | 'base'): string =>
  `${iterationWorkflowId(name, iteration)}/train/${role}`;

/** Id of the workflow that watches a training job; in the first epoch it equals the job's key. */
export const trainingWorkflowId = ({ name, iteration, epoch }: IterationName, role: AgentRole | 'base'): string =>
  `${iterationWorkflowId(name, iteration, epoch)}/train/${role}`;

/** Id of an attempt's trajectory. It is a function of the attempt, so a retry finds the finished attempt. */
export function trajectoryId(attempt: AttemptKey): string {
  const player = attempt.policyId?.slice(0, 12) ?? 'reference';
  return `${attempt.iteration}/${attempt.purpose}/${player}/${attempt.taskId}/${attempt.attempt}`;
}

/** Id of the trajectory in which a candidate's reference actions were executed. */
export const validationId = (iteration: number, taskId: string): string =>
  trajectoryId({ iteration, purpose: 'validation', policyId: null, taskId, attempt: 0 });

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

/** Id of a candidate task. `ordinal` is its number among the candidates of the aim. */
export const candidateTaskId = (iteration: number, aim: string, ordinal: number | string): string =>
  `synthesized/${iteration}/${aim}/${ordinal}`;

/** Returns the aim in the id of a candidate; `random` for ids of another form. */
export const aimOfTask = (taskId: string): string => /^synthesized\/\d+\/([^/]+)\//.exec(taskId)?.[1] ?? 'random';

/** Id of an exploration context, and prefix of the ids of its runs, its abstraction and its model calls. */
export const explorationContextId = (iteration: number, aim: string, ordinal: number): string =>
  `${iteration}/${aim}/${ordinal}`;

export const explorationRunId = (contextId: string, round: number): string => `${contextId}/run/${round}`;
