import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { prepareTraining } from '../../../src/activities/train/prepare-training';
import { registerPolicy } from '../../../src/activities/train/register-policy';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { saveModel } from '../../../src/artifacts/imported-models';
import { trainingJobKey } from '../../../src/domain/campaign/ids';
import type { AgentRole } from '../../../src/domain/roles';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { taskCampaign, type TaskCampaign } from '../context/task-campaign';

const base = 'b'.repeat(64);
let database: FreshDatabase;
let root: string;
beforeAll(async () => {
  database = await freshDatabase();
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-import-policy-'));
  await saveModel(artifactStore(root), {
    name: 'smollm2',
    policyId: base,
    source: { kind: 'folder' },
    license: 'apache-2.0',
    chatFormat: 'smollm2',
    tools: false,
    architecture: 'LlamaForCausalLM',
    parameters: 1,
    weights: 'bfloat16',
  });
});
afterAll(async () => {
  rmSync(root, { recursive: true, force: true });
  await database.drop();
});

const imported = { policy: { source: 'imported', model: 'smollm2' }, start: 'base' };

async function start(changes: Record<string, unknown>): Promise<TaskCampaign> {
  const campaign = await taskCampaign(database.pool, changes, { iteration: 0 });
  return { ...campaign, services: { ...campaign.services, artifacts: artifactStore(root) } };
}

/** Runs the activities of the workflow for an imported role. */
async function importRole({ services, key }: TaskCampaign, role: AgentRole | 'base'): Promise<string | undefined> {
  const step = { ...key, role, method: 'import', data: 'expert', from: 'base' } as const;
  const prepared = await prepareTraining(services)(step);
  if (!prepared?.policyId) return undefined;
  await registerPolicy(services)({ ...key, role, ...prepared, policyId: prepared.policyId });
  return prepared.policyId;
}

test('the base is the model of the spec, and agents that start as the base have the same policy', async () => {
  const campaign = await start(imported);
  const { store, campaignId, name } = campaign;
  for (const role of ['base', 'target', 'failure', 'target'] as const)
    // the repetition of target changes nothing
    expect(await importRole(campaign, role)).toBe(base);
  expect(await store.policies.listActive(campaignId)).toEqual({ base, target: base, failure: base });
  expect(await store.trainingRuns.get(trainingJobKey(name, 0, 'base'))).toMatchObject({
    method: 'import',
    status: 'succeeded',
    policyId: base,
    basePolicy: null,
    datasetRows: 0,
  });
  expect(await store.trainingRuns.get(trainingJobKey(name, 0, 'target'))).toMatchObject({ basePolicy: base });
  expect(await store.policies.list(campaignId)).toMatchObject([{ id: base, role: 'target', parentId: null }]);
});

test('the import of a removed model fails, and the error contains the command that imports it', async () => {
  const campaign = await start({ policy: { source: 'imported', model: 'removed' } });
  await expect(importRole(campaign, 'base')).rejects.toMatchObject({
    code: 'UnknownModel',
    message: expect.stringContaining('coevolve model import <source> --name removed'),
  });
});
