import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore, type ArtifactStore } from '../../src/artifacts/artifact-store';
import { policyClient, type PolicyService } from '../../src/llm/policy-client';
import { policyRouter } from '../../src/llm/policy-router';
import type { Provider } from '../../src/llm/providers';
import { createStore } from '../../src/store';
import { providerPolicy } from '../../src/training/provider-policy';
import { startScriptedModel, type ScriptedModel } from '../llm/scripted-model';
import { scriptedProviders } from '../llm/scripted-provider';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { policyThatWrites } from './judged-campaign';

let database: FreshDatabase;
let root: string;
let artifacts: ArtifactStore;
let provider: ScriptedModel;
let server: ScriptedModel;
beforeAll(async () => {
  database = await freshDatabase();
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-router-'));
  artifacts = artifactStore(root);
});
afterAll(async () => {
  await database.drop();
  rmSync(root, { recursive: true });
});
beforeEach(async () => {
  [provider, server] = await Promise.all([startScriptedModel(), startScriptedModel(policyThatWrites('select 1'))]);
});
afterEach(() => Promise.all([provider.stop(), server.stop()]));

const router = (changes: Partial<Provider> = {}): PolicyService =>
  policyRouter({
    server: policyClient({ url: server.url.replace(/\/v1$/, '') }),
    ...{ providers: scriptedProviders(provider.url, changes), pace: createStore(database.pool).providers, artifacts },
  });

const atProvider = () => providerPolicy(artifacts, { provider: 'scripted', model: 'tuned-1' });

/** A policy whose weights are here. */
function ownPolicy(): string {
  const policyId = 'a'.repeat(64);
  mkdirSync(artifacts.policyPath(policyId), { recursive: true });
  writeFileSync(path.join(artifacts.policyPath(policyId), 'manifest.json'), '{"format":1,"files":[]}');
  return policyId;
}

const request = (policyId: string) => ({
  ...{ policyId, seed: 5, temperature: 0.5, maxTokens: 20, signal: new AbortController().signal },
  messages: [
    { role: 'system', content: 'Write SQL.' },
    { role: 'user', content: 'How many ships?' },
    { role: 'assistant', content: 'select' },
    { role: 'tool', content: 'syntax error' },
  ],
});

test("a provider's policy is sampled there, as text with the tokens that the provider counted", async () => {
  provider.answerBy(() => 'select count(*) from ships');
  const policyId = await atProvider();
  await router().load(policyId, artifacts.policyPath(policyId));
  await expect(router().sample(request(policyId))).resolves.toEqual({
    ...{ content: 'select count(*) from ships', finishReason: 'stop' },
    ...{ promptTokenIds: null, tokenIds: null, logprobs: null, usage: { promptTokens: 11, completionTokens: 7 } },
  });
  const [asked] = provider.log;
  expect(asked!.body).toMatchObject({ model: 'tuned-1', temperature: 0.5, seed: 5, max_tokens: 20 });
  expect(asked!.headers.authorization).toBe('Bearer secret-key');
  expect(asked!.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  expect(server.log).toEqual([]);
});

test('a policy whose weights are here is sampled at the policy server, with its token ids', async () => {
  await expect(router().sample({ ...request(ownPolicy()), messages: [] })).resolves.toMatchObject({
    ...{ content: 'select 1', tokenIds: [5, 6], promptTokenIds: [1, 2] },
  });
  expect(provider.log).toEqual([]);
});

test('a refusal is no action, and an answer that reached its limit is what was said of it', async () => {
  const policyId = await atProvider();
  provider.answerBy(() => ({ refusal: 'I would rather not' }));
  await expect(router().sample(request(policyId))).resolves.toMatchObject({
    ...{ content: '', finishReason: 'content_filter' },
  });
  provider.answerBy(() => ({ text: 'select count(', finishReason: 'length' }));
  await expect(router().sample(request(policyId))).resolves.toMatchObject({
    ...{ content: 'select count(', finishReason: 'length' },
  });
});

test('a conversation that no longer fits is told of as a full context', async () => {
  provider.answerBy(() => ({ status: 400, code: 'context_length_exceeded' }));
  await expect(router().sample(request(await atProvider()))).rejects.toMatchObject({ kind: 'context-full' });
});

test('failures in a row open the breaker, and nothing more is sent', async () => {
  provider.answerBy(() => ({ status: 500 }));
  const policyId = await atProvider();
  const careful = router({ breaker: { failures: 2, coolDownSeconds: 60 } });
  for (let n = 0; n < 3; n++) await expect(careful.sample(request(policyId))).rejects.toMatchObject({ kind: 'retry' });
  expect(provider.log).toHaveLength(2);
  await createStore(database.pool).providers.recordSuccess('scripted');
});

test('a provider that is no longer known is named, with what to do', async () => {
  const policyId = await providerPolicy(artifacts, { provider: 'gone', model: 'm' });
  await expect(router().sample(request(policyId))).rejects.toMatchObject({
    ...{ code: 'UnknownProvider', message: expect.stringContaining('"gone"') },
  });
});
