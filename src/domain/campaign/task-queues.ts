/** One queue per worker role; rollouts have one per environment and model calls one per provider, so that each scales alone. */
export const taskQueues = {
  workflow: 'workflow',
  store: 'store',
  rollout: (environment: string): string => `rollout-${environment}`,
  llm: (provider: string): string => `llm-${provider}`,
  train: 'train',
} as const;

/** The synthesizer without a model runs on the queue of this provider, like the synthesizers with a model. */
export const offlineProvider = 'offline';
