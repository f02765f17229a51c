import { trainingJobKey } from '../../../src/domain/campaign/ids';
import type { IterationKey } from '../../../src/store/database/epoch';
import { attempt, trainingRun, type NewCampaign } from '../../store/support/new-campaign';

/** Stores a policy that an iteration has trained, and its attempts at tasks of dev with these rewards; null: a fault. */
export async function playedAtDev(
  { store, name }: Pick<NewCampaign, 'store' | 'name'>,
  key: IterationKey,
  policyId: string,
  rewards: ReadonlyMap<string, number | null>,
): Promise<void> {
  const jobKey = trainingJobKey(name, key.iteration, 'target');
  await store.trainingRuns.save(key, trainingRun(jobKey), []);
  const policy = { id: policyId, role: 'target', parentId: null, trainingRun: jobKey, uri: 'file:///p' } as const;
  await store.policies.save(key, policy);
  await store.trainingRuns.succeed({ jobKey, epoch: key.epoch }, policyId, { tokens: 1, seconds: 1 });
  await store.tasks.plan(key, 'evaluation', [...rewards.keys()]);
  for (const [taskId, reward] of rewards) {
    const end = reward === null ? ({ outcome: 'environment-fault', fault: 'it broke' } as const) : {};
    await store.trajectories.save(attempt(key, { purpose: 'evaluation', taskId, policyId, reward, ...end }));
  }
}
