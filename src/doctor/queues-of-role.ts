import type { Config } from '../config';
import { offlineProvider, taskQueues } from '../domain/campaign/task-queues';
import { createEnvironments } from '../envs/environments';
import { readProviders } from '../llm/providers';
import type { WorkerRole } from '../stack/service-definition';

/** Returns the task queues of a worker of that role without further options. */
export async function queuesOfRole(config: Config, role: WorkerRole): Promise<string[]> {
  switch (role) {
    case 'workflow':
    case 'store':
    case 'train':
      return [taskQueues[role]];
    case 'rollout':
      return (await createEnvironments(config).data.names()).map(taskQueues.rollout);
    case 'llm':
      return [offlineProvider, ...readProviders(config).keys()].map(taskQueues.llm);
  }
}
