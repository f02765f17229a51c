import { randomUUID } from 'node:crypto';
import { campaignSpecSchema } from '../../../src/specification/campaign-spec';
import { campaignOf } from '../../../src/specification/read-spec';
import type { Store } from '../../../src/store';
import type { IterationKey } from '../../../src/store/database/epoch';

/** Name of the sleeping environment. */
export const environment = 'sleep';

/** Stores a campaign with a plan of this many tasks, each of which is played once. */
export async function planEvaluation(store: Store, attempts: number): Promise<{ key: IterationKey; policyId: string }> {
  const name = `bench-${randomUUID()}`;
  const settings = { name, seed: 1, recipe: 'eto', environment: { name: environment }, start: 'base' };
  const spec = { ...campaignSpecSchema.parse(settings), iterations: 1 };
  const { id: campaignId } = await store.campaigns.save(campaignOf(spec));
  const key = { campaignId, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  const ids = Array.from({ length: attempts }, (_, n) => `task-${n}`);
  const task = {
    environment,
    split: 'held-out' as const,
    origin: 'seed' as const,
    goal: 'Act.',
    features: {},
    referenceActions: [],
    parentTaskId: null,
    parentSignalId: null,
  };
  const tasks = ids.map((id, n) => ({ ...task, id, definition: { reset: { seed: n } }, contentKey: id }));
  await store.tasks.seed(key, tasks);
  await store.tasks.plan(key, 'evaluation', ids);
  return { key, policyId: await addPolicy(store, key, name) };
}

/** Stores a policy with the run that trained it, and returns its id. */
async function addPolicy(store: Store, key: IterationKey, name: string): Promise<string> {
  const id = randomUUID().replaceAll('-', '').repeat(2);
  const jobKey = `campaign/${name}/train`;
  const run = {
    jobKey,
    role: 'target',
    method: 'sft',
    basePolicy: null,
    settings: {},
    seed: 1,
    backend: 'local',
  } as const;
  const dataset = { datasetSha256: id, datasetUri: 'file:///none', datasetRows: 1 };
  await store.trainingRuns.save(key, { ...run, ...dataset }, []);
  const policy = { id, role: 'target', parentId: null, trainingRun: jobKey, uri: 'file:///none' } as const;
  await store.policies.save(key, policy);
  return id;
}
