import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { saveModel } from '../../src/artifacts/imported-models';
import { readPrice } from '../../src/client/choose-model';
import { choosePolicy, type PolicyChoice } from '../../src/client/choose-policy';
import type { Connections } from '../../src/client/connections';
import { taskCampaign, type TaskCampaign } from '../activities/context/task-campaign';
import { addPolicy, hash } from '../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';

let database: FreshDatabase;
let campaign: TaskCampaign;
const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-evaluate-'));
const artifacts = artifactStore(folder);

beforeAll(async () => {
  database = await freshDatabase();
  campaign = await taskCampaign(database.pool, {}, { iteration: 1 });
  await addPolicy(campaign, { id: hash('a') });
  await addPolicy(campaign, { id: hash('b'), role: 'base' });
  await campaign.store.policies.setActivePolicy(campaign.key, 'target', null, hash('a'));
  await saveModel(artifacts, {
    name: 'small',
    policyId: hash('c'),
    source: {},
    license: 'MIT',
    chatFormat: 'chatml',
    architecture: 'qwen3',
    parameters: 1,
    weights: 'float32',
    tools: false,
  });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

const choose = (subject: string, choice: PolicyChoice = {}) =>
  choosePolicy({ store: campaign.store, artifacts } as unknown as Connections, subject, choice);

test('a policy is named by its campaign, with an iteration or a role, by its hash, or by its imported model', async () => {
  const { name, spec } = campaign;
  const ofCampaign = { policyId: hash('a'), model: null, source: spec };
  expect(await choose(name)).toEqual({ ...ofCampaign, origin: `active target policy of ${name}` });
  expect(await choose(name, { iteration: 1 })).toEqual({
    ...ofCampaign,
    origin: `target policy of iteration 1 of ${name}`,
  });
  expect(await choose(name, { iteration: 1, role: 'base' })).toMatchObject({ policyId: hash('b') });
  expect(await choose('bbbbbb')).toMatchObject({
    policyId: hash('b'),
    origin: `base policy of iteration 1 of ${name}`,
  });
  expect(await choose('small')).toEqual({ policyId: hash('c'), model: null, source: null, origin: 'model small' });
});

test('a language model is named by its provider, alone or on the tasks of a campaign', async () => {
  const price = { inputPerMillion: 2.5, outputPerMillion: 10 };
  const model = { provider: 'open', model: 'vendor/large', price };
  expect(await choose('open/vendor/large', { price })).toMatchObject({ policyId: null, model, source: null });
  const { name, spec } = campaign;
  expect(await choose(name, { model: 'open/vendor/large', price })).toMatchObject({
    policyId: null,
    model,
    source: spec,
  });
  await expect(choose('open/vendor/large')).rejects.toThrow(
    '--price: found nothing, expected US dollars per million tokens of prompts and of answers of open/vendor/large',
  );
  await expect(choose(name, { model: 'solver' })).rejects.toThrow(
    '--model: found "solver", expected <provider>/<model>: the campaign names no language models',
  );
  await expect(choose(name, { model: 'open/vendor/large', price, iteration: 1 })).rejects.toThrow(
    '--iteration, --role',
  );
  expect(() => readPrice('2.5')).toThrow('--price: found "2.5"');
  expect(readPrice('2.5, 10')).toEqual(price);
});

test.each([
  ['nothing', {}, 'expected a campaign'],
  ['bbbbb', {}, 'expected a campaign'],
  ['cccccc', {}, 'expected a campaign'], // a model is named by its name
  ['small', { role: 'base' }, "expected a campaign's name"],
])('"%s" with %j is rejected', async (subject, choice, message) => {
  await expect(choose(subject, choice)).rejects.toMatchObject({
    code: 'UnknownPolicy',
    message: expect.stringContaining(message) as unknown,
  });
});
