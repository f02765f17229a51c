/**
 * Roles of the agents in a campaign: `target` is the agent being trained; `failure` is trained on failures to supply hard
 * negatives (arXiv:2511.22254); `positive` replaces it in the ablation and is trained on expert pairs.
 */
export type AgentRole = 'target' | 'failure' | 'positive';

export const agentRoles: readonly AgentRole[] = ['target', 'failure', 'positive'];
