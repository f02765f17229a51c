import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../../activities';
import { profiles } from '../temporal/activity-profiles';
import { keyOf, type IterationContext } from './iteration-context';
import { rolloutTasks } from './rollout-tasks';

const store = proxyActivities<Activities>(profiles.store);
const trainer = proxyActivities<Activities>(profiles.train);

/**
 * Reinforcement learning: each RL step rolls out the current policy, updates it once, and publishes the policy for the next
 * step. A retry finds every finished step done.
 */
export async function optimize(context: IterationContext): Promise<void> {
  const { plan, runner, environment } = context;
  if (!plan.rlJob) return;
  const { role, method, steps } = plan.rlJob;
  const key = keyOf(context);
  const { unloadPolicies } = proxyActivities<Activities>(profiles.rollout(environment));
  for (let step = 1; step <= steps; step++) {
    await runner.unpaused();
    runner.note(`step ${step} of ${steps}`);
    await rolloutTasks(context, 'train', plan.agents, step);
    const { jobKey } = await store.prepareStep({ ...key, role, method, step });
    const { policyId } = await trainer.trainStep({ jobKey, epoch: key.epoch, step });
    await store.registerStep({ ...key, role, jobKey, step, policyId });
    await unloadPolicies(key);
  }
}
