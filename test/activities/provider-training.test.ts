import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { prepareTraining, type TrainingRequest } from '../../src/activities/prepare-training';
import { registerPolicy } from '../../src/activities/register-policy';
import type { Services } from '../../src/activities/services';
import { submitTraining } from '../../src/activities/submit-training';
import { trainingOfRun } from '../../src/activities/training-of-run';
import { watchTraining } from '../../src/activities/watch-training';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { servedBy } from '../../src/artifacts/served-policy';
import { trajectoryId } from '../../src/domain/ids';
import type { PreferencePair } from '../../src/domain/preference-pair';
import { policyClient } from '../../src/llm/policy-client';
import { policyRouter } from '../../src/llm/policy-router';
import type { PolicyRole } from '../../src/store/policies';
import { openaiBackend } from '../../src/training/openai-backend';
import { scriptedProviders } from '../llm/scripted-provider';
import { attempt, task } from '../store/new-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { finish, startScriptedFineTuning, type ScriptedFineTuning } from '../training/scripted-fine-tuning';
import { inActivity } from './in-activity';
import { taskCampaign, type TaskCampaign } from './task-campaign';

let database: FreshDatabase;
let root: string;
let provider: ScriptedFineTuning;
beforeAll(async () => {
  [database, provider] = await Promise.all([freshDatabase(), startScriptedFineTuning()]);
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-provider-training-'));
});
afterAll(async () => {
  await Promise.all([database.drop(), provider.stop()]);
  rmSync(root, { recursive: true });
});

const text = (action: string) => [
  { action, observation: [{ role: 'user', content: 'ok' }], promptTokenIds: null, tokenIds: null, logprobs: null },
];

/** A campaign whose model the scripted provider serves and fine-tunes, with what activities need to train it. */
async function atProvider(): Promise<TaskCampaign & { train: (request: Partial<TrainingRequest>) => Promise<string> }> {
  const campaign = await taskCampaign(database.pool, {
    ...{ recipe: 'eto', policy: { source: 'provider', provider: 'scripted', model: 'small-1' } },
    compute: { backend: 'openai' },
  });
  const { store } = campaign;
  const artifacts = artifactStore(root);
  const providers = scriptedProviders(provider.url);
  const services: Services = {
    ...{ ...campaign.services, store, artifacts },
    training: trainingOfRun({ openai: () => openaiBackend(providers, artifacts) }, store.trainingRuns),
    policies: policyRouter({
      ...{ server: policyClient({ url: 'http://127.0.0.1:1' }), providers, pace: store.providers, artifacts },
    }),
  };

  /** As the workflow does: prepare, submit, watch, register; the provider finishes each job as soon as it is there. */
  async function train(changes: Partial<TrainingRequest>): Promise<string> {
    const request = {
      ...campaign.key,
      role: 'target' as PolicyRole,
      method: 'sft',
      data: 'expert',
      from: 'head',
      ...changes,
    };
    const prepared = (await prepareTraining(services)(request as TrainingRequest))!;
    const { jobKey } = prepared;
    if (prepared.policyId) return register(request, jobKey, prepared.policyId);
    await inActivity(() => submitTraining(services)({ jobKey }));
    finish(provider.jobs.at(-1)!, `ft:${provider.jobs.length}`);
    const { policyId } = await inActivity(() => watchTraining(services)({ jobKey }));
    return register(request, jobKey, policyId);
  }

  async function register(request: Pick<TrainingRequest, 'iteration' | 'role'>, jobKey: string, policyId: string) {
    await registerPolicy(services)({ ...campaign.key, ...request, jobKey, policyId });
    return policyId;
  }
  return { ...campaign, services, train };
}

test('a model of a provider is taken over, fine-tuned by sft and then by dpo, and played with as it became', async () => {
  const { store, key, campaignId, services, train } = await atProvider();
  await store.tasks.seed(key, [task('ships')]);
  const expert = attempt(key, { taskId: 'ships', steps: text('select count(*) from ships') });
  await store.trajectories.save(expert);

  const start = { ...key, iteration: 0, epoch: await store.iterations.open(campaignId, 0) };
  const base = await train({ ...start, role: 'base', method: 'import', from: 'base' });
  const first = await train({ ...start, from: 'base' });
  expect(provider.jobs[0]).toMatchObject({ model: 'small-1', method: { type: 'supervised' } });
  expect(await servedBy(services.artifacts, base)).toEqual({ provider: 'scripted', model: 'small-1' });
  expect(await servedBy(services.artifacts, first)).toEqual({ provider: 'scripted', model: 'ft:1' });

  const own = attempt(key, { taskId: 'ships', purpose: 'train', policyId: first, reward: 0, steps: text('select 1') });
  await store.trajectories.save(own);
  const pair: PreferencePair = {
    ...{ kind: 'expert-target', forRole: 'target', taskId: 'ships', hardNegative: false },
    ...{ chosenId: trajectoryId(expert), rejectedId: trajectoryId(own), chosenReward: 1, rejectedReward: 0 },
    ...{ lambdaDpo: 1, lambdaSft: 0 },
  };
  await store.preferencePairs.save(key, 'target', { pairs: [pair], dropped: [] });
  const second = await train({ method: 'dpo', data: 'pairs' });
  expect(provider.jobs[1]).toMatchObject({ model: 'ft:1', method: { type: 'dpo' } });
  expect(JSON.parse(provider.files[1]!.text)).toMatchObject({
    preferred_output: [{ content: 'select count(*) from ships' }],
    non_preferred_output: [{ content: 'select 1' }],
  });

  const messages = [{ role: 'user', content: 'How many ships?' }];
  const sample = { messages, seed: 1, temperature: 0, maxTokens: 20, signal: new AbortController().signal };
  await expect(services.policies.sample({ ...sample, policyId: second })).resolves.toMatchObject({
    ...{ content: 'ft:2 says 1', tokenIds: null, usage: { promptTokens: 20, completionTokens: 3 } },
  });
  await expect(store.ledger.total(campaignId)).resolves.toMatchObject({ tokens: 2 * 1234, seconds: 2 * 60 });
});
