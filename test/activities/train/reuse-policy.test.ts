import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { backendForRun } from '../../../src/activities/train/backend-for-run';
import { prepareTraining, type PreparedTraining } from '../../../src/activities/train/prepare-training';
import { registerPolicy } from '../../../src/activities/train/register-policy';
import { submitTraining } from '../../../src/activities/train/submit-training';
import { watchTraining } from '../../../src/activities/train/watch-training';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { contentHash } from '../../../src/store/audit/content-hash';
import { findViolations } from '../../../src/store/audit/invariants';
import { getLineage } from '../../../src/store/audit/lineage';
import { listReferences } from '../../../src/store/backup/artifacts';
import { deleteCampaign } from '../../../src/store/campaign/delete-campaign';
import { effortOf } from '../../../src/store/experiment/effort';
import type { TrainingStatus } from '../../../src/training/contract/training-backend';
import { localBackend } from '../../../src/training/local/local-backend';
import { trainerVersion } from '../../../src/training/local/trainer-command';
import { attempt, raiseEpoch, step, task } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { forkedTrainer } from '../../support/trainer-server';
import { inActivity } from '../context/in-activity';
import { taskCampaign, type TaskCampaign } from '../context/task-campaign';

let database: FreshDatabase;
let root: string;
let first: TaskCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  root = mkdtempSync(path.join(tmpdir(), 'coevolve-reuse-policy-'));
  first = await campaign();
  expect(await start(first)).toEqual(['trained', 'trained']);
});
afterAll(async () => {
  rmSync(root, { recursive: true, force: true });
  await database.drop();
});

const small = {
  init: { vocabularySize: 320, hiddenSize: 32, layers: 1, feedForwardSize: 32, maxPositions: 64 },
  sft: { epochs: 2 },
};

const reference = { ...step('select 1'), promptTokenIds: null, tokenIds: null, logprobs: null };

type CampaignChanges = { reuse?: boolean; seed?: number; name?: string };

/** A campaign with one expert attempt. The name is no part of the content, so all have the same content but `changes`. */
async function campaign({ reuse = true, seed = 7, ...named }: CampaignChanges = {}): Promise<TaskCampaign> {
  const changes = { recipe: 'eto', compute: { reuse }, training: small, seed, ...named };
  const made = await taskCampaign(database.pool, changes, { iteration: 0 });
  const { store, key } = made;
  await store.tasks.seed(key, [task('seed')]);
  await store.tasks.plan(key, 'expert', ['seed']);
  await store.trajectories.save(attempt(key, { taskId: 'seed', turns: [reference] }));
  const artifacts = artifactStore(root);
  const training = backendForRun({ local: () => localBackend(forkedTrainer, artifacts) }, store.trainingRuns);
  const services = { ...made.services, artifacts, training, trainerVersion: () => trainerVersion(forkedTrainer) };
  return { ...made, services };
}

const request = ({ key }: TaskCampaign, role: 'base' | 'target') => {
  const method = role === 'base' ? ('init' as const) : ('sft' as const);
  return { ...key, role, method, data: 'expert' as const, from: 'base' as const };
};

const prepare = (made: TaskCampaign, role: 'base' | 'target', services: Dependencies = made.services) =>
  inActivity(() => prepareTraining(services)(request(made, role))) as Promise<PreparedTraining>;

/** Runs the activities of one job as the workflow does. */
async function train(made: TaskCampaign, role: 'base' | 'target'): Promise<'found' | 'trained'> {
  const { services, key } = made;
  const { jobKey, policyId } = await prepare(made, role);
  const job = { jobKey, epoch: key.epoch };
  if (!policyId) await inActivity(() => submitTraining(services)(job));
  const id = policyId ?? (await inActivity(() => watchTraining(services)(job))).policyId;
  await registerPolicy(services)({ ...key, role, jobKey, policyId: id });
  return policyId ? 'found' : 'trained';
}

const start = async (made: TaskCampaign) => [await train(made, 'base'), await train(made, 'target')];

const hashOf = async ({ campaignId }: TaskCampaign): Promise<string> =>
  (await contentHash(database.pool, campaignId)).hash;

const entriesOf = async ({ campaignId }: TaskCampaign): Promise<string[]> =>
  (
    await database.pool.query<{ text: string }>(
      `select entry || ' ' || unit as text from ledger where campaign_id = $1 order by key, text`,
      [campaignId],
    )
  ).rows.map(({ text }) => text);

test('a second campaign with the same start trains nothing, has the same content, and pays nothing', async () => {
  const second = await campaign();
  expect(await start(second)).toEqual(['found', 'found']);
  expect(await hashOf(second)).toBe(await hashOf(first));
  expect(await entriesOf(second)).toEqual(['found seconds', 'found tokens', 'found seconds', 'found tokens']);
  await expect(second.store.ledger.getTotal(second.campaignId)).resolves.toEqual({ tokens: 0, seconds: 0 });

  const [own] = await effortOf(database.pool, first.campaignId);
  const [found] = await effortOf(database.pool, second.campaignId);
  for (const measure of ['updates', 'trainedTokens'] as const) {
    expect(own!.effort[measure].paid).toBe(own!.effort[measure].nominal);
    expect(found!.effort[measure]).toEqual({ nominal: own!.effort[measure].nominal, paid: 0 });
  }
  expect(found!.effort.updates.nominal).toBe(2);
  expect(found!.effort.wallSeconds.nominal).toBeGreaterThan(found!.effort.wallSeconds.paid);

  const target = (await second.store.policies.listActive(second.campaignId)).target!;
  expect((await getLineage(database.pool, target)).campaign).toBe(first.name);
  const violations = await findViolations(database.pool, second.campaignId);
  expect(violations.map(({ invariant }) => invariant)).toEqual([]);
});

test('a search that is killed, repeated and concurrent leaves one result', async () => {
  const made = await campaign();
  const { services, store } = made;
  const killed = {
    ...services,
    store: { ...store, reusedRuns: { ...store.reusedRuns, take: () => Promise.reject(new Error('killed')) } },
  };
  await expect(prepare(made, 'base', killed)).rejects.toThrow('killed');
  const results = await Promise.all(Array.from({ length: 4 }, () => prepare(made, 'base')));
  const { policyId } = await first.store.trainingRuns.get(`campaign/${first.name}/iteration/0/train/base`);
  expect(results.map((result) => result.policyId)).toEqual(Array(4).fill(policyId));
  expect(await entriesOf(made)).toEqual(['found seconds', 'found tokens']);
});

test('a run of an older epoch finds nothing', async () => {
  const made = await campaign();
  await raiseEpoch(database.pool, made.key);
  await expect(prepare(made, 'base')).rejects.toThrow(/StaleEpoch|later run/);
});

test('another seed, another trainer, or no reuse in one of both is no equal job', async () => {
  const other = await campaign({ seed: 8 });
  expect((await prepare(other, 'base')).policyId).toBeUndefined();
  const newer = await campaign();
  const services = { ...newer.services, trainerVersion: () => Promise.resolve('newer') };
  expect((await prepare(newer, 'base', services)).policyId).toBeUndefined();
  const without = await campaign({ reuse: false });
  expect((await prepare(without, 'base')).policyId).toBeUndefined();
  expect(await without.store.trainingRuns.get(`campaign/${without.name}/iteration/0/train/base`)).toMatchObject({
    contentKey: null,
    reusedFrom: null,
  });
});

test('a job that has begun is not found: its cost is booked already', async () => {
  const made = await campaign();
  await made.store.trainingRuns.save(made.key, await runWithout(made), []);
  const jobKey = `campaign/${made.name}/iteration/0/train/base`;
  await made.store.ledger.bookTraining({ jobKey, epoch: 1 }, { tokens: 1, seconds: 1 }, false);
  expect((await prepare(made, 'base')).policyId).toBeUndefined();
});

/** The stored job of the first campaign, for another campaign. */
async function runWithout({ name }: TaskCampaign) {
  const run = await first.store.trainingRuns.get(`campaign/${first.name}/iteration/0/train/base`);
  return { ...run, jobKey: `campaign/${name}/iteration/0/train/base` };
}

test('a damaged policy is trained again, which repairs it for both campaigns', async () => {
  const { base } = await first.store.policies.listActive(first.campaignId);
  writeFileSync(path.join(root, 'policies', base!, 'model.safetensors'), 'damaged');
  const made = await campaign();
  expect(await train(made, 'base')).toBe('trained');
  expect((await made.store.policies.listActive(made.campaignId)).base).toBe(base);
  expect(await train(made, 'target')).toBe('found');
  expect(await hashOf(made)).toBe(await hashOf(first));
});

test('the deletion of the campaign that trained a policy leaves those that found it whole', async () => {
  const second = await campaign();
  await start(second);
  const before = await hashOf(second);
  await first.store.campaigns.setStatus(first.campaignId, 'finished');
  await deleteCampaign(database.pool, first.name);
  expect(await hashOf(second)).toBe(before);
  const { target } = await second.store.policies.listActive(second.campaignId);
  const references = await listReferences(database.pool, root);
  expect(references).toContainEqual({ path: `policies/${target!}`, campaignId: second.campaignId });
  expect(await start(await campaign())).toEqual(['found', 'found']);
});

test('a campaign with the name of a deleted one trains itself, and keeps the files only of a job with equal input', async () => {
  const name = 'named-twice';
  const trained = async (seed: number): Promise<string[]> => {
    const made = await campaign({ reuse: false, seed, name });
    expect(await start(made)).toEqual(['trained', 'trained']);
    const policies = await made.store.policies.list(made.campaignId);
    await made.store.campaigns.setStatus(made.campaignId, 'finished');
    await deleteCampaign(database.pool, name);
    return policies.map(({ id }) => id).toSorted();
  };
  const folder = path.join(root, 'jobs', 'campaign', name, 'iteration', '0', 'train');
  const before = await trained(7);
  expect(readdirSync(folder).toSorted()).toEqual(['base', 'target']);
  const other = await trained(8);
  expect(other).not.toContainEqual(expect.toBeOneOf(before));
  expect(readdirSync(folder).toSorted()).toEqual(['base', 'base~1', 'target', 'target~1']);
  expect(await trained(8)).toEqual(other);
  expect(await trained(7)).toEqual(before);
  expect(readdirSync(folder).toSorted()).toEqual(['base', 'base~1', 'base~2', 'target', 'target~1', 'target~2']);
});

test('a job does not begin in the folder of another one that runs', async () => {
  const made = await campaign({ reuse: false });
  const folder = artifactStore(root).jobPath(`campaign/${made.name}/iteration/0/train/base`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'job.json'), JSON.stringify({ method: 'init', seed: 1, settings: {} }));
  const running: TrainingStatus = { state: 'running', step: 0, totalSteps: 0, policies: [] };
  const training = { ...made.services.training, status: () => Promise.resolve(running) };
  await expect(prepare(made, 'base', { ...made.services, training })).rejects.toThrow(
    `${folder}: found a running job with other input`,
  );
  expect(readdirSync(folder)).toEqual(['job.json']);
});
