import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { createModelService } from '../../../src/llm/model-service';
import type { Providers } from '../../../src/llm/providers';
import type { CampaignSpec } from '../../../src/specification/campaign-spec';
import { campaignOf, resolveSpec } from '../../../src/specification/read-spec';
import { createStore } from '../../../src/store';
import type { IterationKey } from '../../../src/store/database/epoch';
import type { NewTask } from '../../../src/store/tasks/tasks';
import { addPolicy, attempt, candidate, hash, step, type NewCampaign } from '../../store/support/new-campaign';

export type TaskCampaign = NewCampaign & { services: Dependencies; spec: CampaignSpec };

/** Creates a campaign of this spec with an open, empty iteration, and the dependencies for plans and admissions. */
export async function taskCampaign(
  pool: Pool,
  changes: Record<string, unknown> = {},
  { iteration = 1, providers = new Map() as Providers } = {},
): Promise<TaskCampaign> {
  const store = createStore(pool);
  const spec = resolveSpec(
    { name: `c-${randomUUID()}`, seed: 7, environment: { name: 'intercode-sql' }, recipe: 'combined', ...changes },
    'test.yaml',
  );
  const { id: campaignId } = await store.campaigns.save(campaignOf(spec));
  const key = { campaignId, iteration, epoch: await store.iterations.open(campaignId, iteration) };
  const services = { store, models: createModelService({ store, providers }) } as Dependencies;
  return { store, pool, campaignId, name: spec.name, key, services, spec };
}

/** Stores candidates with a scored run of their actions each; a candidate with reward null has no run. */
export async function proposeValidated(
  { store, key }: NewCampaign,
  candidates: readonly { id: string; reward?: number | null; changes?: Partial<NewTask> }[],
): Promise<void> {
  const tasks = candidates.map(({ id, changes }) => candidate(id, { goal: `How is ${id} used?`, ...changes }));
  await store.tasks.propose(key, tasks);
  for (const [n, { id, reward = 1 }] of candidates.entries()) {
    const run = { purpose: 'validation', taskId: id, turns: tasks[n]!.referenceActions.map(step) } as const;
    if (reward !== null) await store.trajectories.save(attempt(key, { ...run, reward, rawScore: reward }));
  }
}

/** Returns the verdict of every task by id, for rejected tasks the reason. */
export const verdictsOf = async ({ store, campaignId }: NewCampaign): Promise<Record<string, string>> =>
  Object.fromEntries((await store.tasks.list(campaignId)).map(({ id, reason, verdict }) => [id, reason ?? verdict]));

/** Opens an iteration and stores scored attempts of the target policy in it. */
export async function playTasks(
  campaign: NewCampaign,
  iteration: number,
  rewards: Record<string, number[]>,
): Promise<void> {
  const { store, campaignId } = campaign;
  const key: IterationKey = { campaignId, iteration, epoch: await store.iterations.open(campaignId, iteration) };
  const policyId = hash('a');
  if (!(await store.policies.list(campaignId)).some(({ id }) => id === policyId))
    await addPolicy(campaign, { id: policyId });
  for (const [taskId, each] of Object.entries(rewards))
    for (const [number, reward] of each.entries())
      await store.trajectories.save(attempt(key, { purpose: 'train', taskId, policyId, attempt: number, reward }));
}
