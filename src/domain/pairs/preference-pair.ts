import type { AgentRole } from '../base/roles';

/** Which two sources a pair takes its trajectories from (arXiv:2511.22254, equations 6 and 8). */
export type PairKind = 'failure-failure' | 'expert-target' | 'expert-failure' | 'expert-positive';

export const pairKinds: readonly PairKind[] = ['failure-failure', 'expert-target', 'expert-failure', 'expert-positive'];

/** Two trajectories of one task, the first with the strictly higher reward, and their weight in the loss. */
export type PreferencePair = {
  /** The agent that trains on the pair. */
  forRole: AgentRole;
  kind: PairKind;
  taskId: string;
  chosenId: string;
  rejectedId: string;
  chosenReward: number;
  rejectedReward: number;
  /** Weight of the pair's DPO term. */
  lambdaDpo: number;
  /** Weight of the negative log-likelihood of the chosen trajectory. */
  lambdaSft: number;
  /** The rejected trajectory is a near-success: a failure at or above the settings' threshold. */
  hardNegative: boolean;
};

/**
 * Why a candidate did not become a pair.
 *
 * - `tie`: both have the same reward
 * - `no-expert`: the attempt's task has no expert trajectory (counted once per attempt)
 * - `expert-not-better`: the attempt beats the expert and the settings do not flip such pairs
 * - `same-actions`: the two took the same actions, or another candidate pairs the same actions
 * - `task-cap`: the task already gives this kind as many pairs as the settings allow
 * - `quota`: the kind has as many pairs as the settings allow
 */
export type DropReason = 'tie' | 'no-expert' | 'expert-not-better' | 'same-actions' | 'task-cap' | 'quota';

/** Every candidate is in exactly one place: in `pairs`, or counted in `dropped` (which lists no zero counts). */
export type PairingResult = {
  pairs: PreferencePair[];
  dropped: { kind: PairKind; reason: DropReason; count: number }[];
};
