/** One queue per role; rollouts have one per environment, model calls one per provider, so that each scales alone. */
export const taskQueues = {
  workflow: 'workflow',
  store: 'store',
  rollout: (environment: string): string => `rollout-${environment}`,
  llm: (provider: string): string => `llm-${provider}`,
  train: 'train',
} as const;

/** The synthesizer that needs no model runs on the model role's queue, where a model's would. */
export const offlineProvider = 'offline';
