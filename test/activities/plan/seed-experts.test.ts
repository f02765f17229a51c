import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { planIteration } from '../../../src/activities/plan/plan-iteration';
import { withExperts } from '../../../src/activities/plan/seed-experts';
import { seedTasks } from '../../../src/activities/plan/seed-tasks';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import type { TaskRecord } from '../../../src/envs/server/environment-data';
import { saveExperts } from '../../../src/envs/experts/expert-file';
import { resolveSpec } from '../../../src/specification/read-spec';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { taskCampaign } from '../context/task-campaign';
import { inActivity } from '../context/in-activity';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-seed-experts-'));
const artifacts = artifactStore(folder);
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

const name = 'intercode-sql';

const record = (id: string, actions: string[] = []): TaskRecord => ({
  task_id: id,
  goal: id,
  definition: { task_id: id },
  features: { pattern: 'p' },
  content_key: id,
  reference_actions: actions,
});

const specOf = (environment: object = {}, more: object = {}) =>
  resolveSpec({ name: 'c', seed: 7, environment: { name, ...environment }, recipe: 'combined', ...more }, 'test.yaml');

const storeExpert = async (...actions: string[]): Promise<string> => {
  const rewards = { reward: 1, claimed_reward: 0.8, replayed: true };
  return (await saveExperts(artifacts, [{ environment: name, task_id: 'a', actions, ...rewards }])).sha256;
};

test('imported experts replace the reference actions of the environment, in the action form of the spec', async () => {
  const experts = await storeExpert('Thought: so\nAction: go', 'stop');
  const given = (form: string) =>
    withExperts({ artifacts }, specOf({ experts, form }), [record('a', ['own']), record('b', ['own']), record('c')]);
  expect((await given('plain')).map((task) => task.reference_actions)).toEqual([['go', 'stop'], ['own'], []]);
  expect((await given('react')).map((task) => task.reference_actions)).toEqual([
    ['Thought: so\nAction: go', 'Action: stop'],
    ['own'],
    [],
  ]);
});

test.each([
  ['no task has an expert', {}, [record('b')], /coevolve experts import/],
  ['no expert has a task', { experts: '' }, [record('b', ['own'])], /none of its 1 tasks is among the 1/],
])('a supervised start is rejected if %s', async (_, environment, records, message) => {
  const experts = 'experts' in environment ? { experts: await storeExpert('go') } : {};
  const rejected = withExperts({ artifacts }, specOf(experts), records);
  await expect(rejected).rejects.toMatchObject({ code: 'NoExperts', message: expect.stringMatching(message) });
});

test('a campaign that starts from an imported base needs no expert', async () => {
  const base = { start: 'base', policy: { source: 'imported', model: 'm' } };
  expect(await withExperts({ artifacts }, specOf({}, base), [record('b')])).toHaveLength(1);
});

test('tasks are seeded with imported experts, and iteration 0 plays the tasks that have reference actions', async () => {
  const environment = { name, trainTasks: 3, heldOutTasks: 1, experts: await storeExpert('go'), form: 'react' };
  const campaign = await taskCampaign(database.pool, { environment }, { iteration: 0 });
  const requestedForms: unknown[] = [];
  const environmentData = {
    tasks: (_: string, { split, form }: { split: string; form: string }) => {
      requestedForms.push(form);
      return Promise.resolve(
        split === 'train' ? [record('a', ['own']), record('b'), record('c', ['own'])] : [record('h')],
      );
    },
  };
  const services = { ...campaign.services, artifacts, environmentData } as unknown as typeof campaign.services;
  await inActivity(() => seedTasks(services)(campaign.key));
  await planIteration(services)(campaign.key);
  const planned = await campaign.store.tasks.listPlanned(campaign.key, 'expert', 0, 9);
  expect(planned.map(({ id, referenceActions }) => [id, referenceActions])).toEqual([
    ['a', ['Action: go']],
    ['c', ['own']],
  ]);
  expect(requestedForms).toEqual(['react', 'react']);
});
