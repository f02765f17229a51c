import { admitTasks } from '../../../src/activities/validate/admit-tasks';
import { countPlanned } from '../../../src/activities/plan/count-planned';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import { refillSizeOf } from '../../../src/activities/synthesize/refill-size';
import { candidateTaskId } from '../../../src/domain/campaign/ids';
import { listMatches } from '../../../src/store/tasks/matches';
import { createStore } from '../../../src/store';
import { contentHash } from '../../../src/store/audit/content-hash';
import { cellManifest } from '../../../src/store/experiment/cell-manifest';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { insertFrozen, twoArms } from '../../support/frozen-experiment';
import { simulatedCell } from '../../support/long-table';
import { proposeValidated, taskCampaign, type TaskCampaign } from '../context/task-campaign';
import { admitted } from '../../store/support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** Creates a campaign that has admitted tasks for aims, by iteration. */
async function otherCampaign(
  made: readonly Record<string, number>[],
  changes: Record<string, unknown> = {},
): Promise<TaskCampaign> {
  const campaign = await taskCampaign(database.pool, { iterations: 3, ...changes });
  for (const [index, aims] of made.entries()) await admitInto(campaign, index + 1, aims);
  return campaign;
}

async function admitInto({ store, campaignId, key }: TaskCampaign, iteration: number, aims: Record<string, number>) {
  const epoch = iteration === key.iteration ? key.epoch : await store.iterations.open(campaignId, iteration);
  const own = { campaignId, iteration, epoch };
  for (const [aim, count] of Object.entries(aims))
    for (let n = 0; n < count; n++) {
      const id = candidateTaskId(iteration, aim, n);
      await proposeValidated({ store, key: own } as TaskCampaign, [{ id }]);
      await store.admission.decide(own, [admitted(id)]);
    }
  const phase = { ...own, phase: 'validate', previous: null } as const;
  await store.iterations.beginPhase(phase);
  await store.iterations.commitPhase(phase, {});
}

const control = (match: string, synthesis: Record<string, unknown>): Promise<TaskCampaign> =>
  taskCampaign(database.pool, { iterations: 3, synthesis: { match, growthCap: 1, quotaPerSignal: 1, ...synthesis } });

const propose = (campaign: TaskCampaign, refill: number, aims: Record<string, number>, reward = 1) =>
  proposeValidated(
    campaign,
    Object.entries(aims).flatMap(([aim, count]) =>
      Array.from({ length: count }, (_, n) => ({
        id: candidateTaskId(1, aim, `${reward > 0 ? 'good' : 'bad'}-${refill}.${n}`),
        reward,
        changes: { refill },
      })),
    ),
  );

const admitRefill = (campaign: TaskCampaign, refill: number) =>
  admitTasks(campaign.services)({ ...campaign.key, refill });

const matchesOf = ({ campaignId }: TaskCampaign) => listMatches(database.pool, campaignId);

test('a campaign is refilled until it admits as many tasks as the other, and no more', async () => {
  const other = await otherCampaign([{ forgetting: 3, boundary: 2 }]);
  const random = await control(other.name, { aims: 'random' });
  await propose(random, 0, { random: 3 });
  await propose(random, 0, { random: 4 }, 0);
  await planValidation(random.services)(random.key);
  await expect(admitRefill(random, 0)).resolves.toEqual(['random']);
  expect(await matchesOf(random)).toEqual([{ iteration: 1, matched: other.name, wanted: 5, admitted: 3, refills: 0 }]);

  await propose(random, 1, { random: 4 });
  await planValidation(random.services)({ ...random.key, refill: 1 });
  const planned = countPlanned(random.services);
  await expect(planned({ ...random.key, purpose: 'validation' })).resolves.toMatchObject({ tasks: 7 });
  await expect(planned({ ...random.key, purpose: 'validation', refill: 1 })).resolves.toMatchObject({
    earlier: 7,
    tasks: 11,
  });
  await expect(admitRefill(random, 1)).resolves.toEqual([]);
  const met = [{ iteration: 1, matched: other.name, wanted: 5, admitted: 5, refills: 1 }];
  expect(await matchesOf(random)).toEqual(met);
  const tasks = await random.store.tasks.list(random.campaignId);
  await expect(admitRefill(random, 0)).resolves.toEqual(['random']); // the phase is repeated, in the same way
  expect(await matchesOf(random)).toEqual(met);
  await expect(admitRefill(random, 1)).resolves.toEqual([]);
  expect(await random.store.tasks.list(random.campaignId)).toEqual(tasks);
  expect(await matchesOf(random)).toEqual(met);
});

test('after the last refill the shortfall is stored, and the diversity of all admitted tasks', async () => {
  const other = await otherCampaign([{ rare: 5 }]);
  const random = await control(other.name, { aims: 'random', refills: 1 });
  await propose(random, 0, { random: 2 });
  await expect(admitRefill(random, 0)).resolves.toEqual(['random']);
  await expect(random.store.admission.listDiversity(random.campaignId)).resolves.toEqual([]);
  await propose(random, 1, { random: 1 });
  await expect(admitRefill(random, 1)).resolves.toEqual([]);
  expect(await matchesOf(random)).toMatchObject([{ wanted: 5, admitted: 3, refills: 1 }]);
  await expect(random.store.admission.listDiversity(random.campaignId)).resolves.toMatchObject([{ tasks: 3 }]);
});

test('a refill asks for the missing tasks at the yield so far, and for the most if nothing was admitted', async () => {
  const other = await otherCampaign([{ rare: 8 }]);
  const synthesis = { aims: 'random', candidatesPerSignal: 10 };
  const random = await control(other.name, synthesis);
  const size = (refill: number) => refillSizeOf(random.services, random.key, random.spec, { aim: 'random', refill });
  await propose(random, 0, { random: 6 }, 0);
  await admitRefill(random, 0);
  await expect(size(1)).resolves.toEqual({ candidates: 30, contexts: 24 });
  await propose(random, 1, { random: 4 });
  await admitRefill(random, 1);
  await expect(size(2)).resolves.toMatchObject({ candidates: 10 }); // 4 are missing, 4 of 10 were admitted
  await expect(size(1)).resolves.toEqual({ candidates: 30, contexts: 24 }); // a repetition
});

test('the placebo admits as many tasks as the other for each aim', async () => {
  const other = await otherCampaign([{ forgetting: 1, boundary: 3, rare: 2 }]);
  const placebo = await control(other.name, { aims: 'shuffled' });
  await propose(placebo, 0, { forgetting: 4, boundary: 2, rare: 2 });
  await expect(admitRefill(placebo, 0)).resolves.toEqual(['boundary']);
  expect(await matchesOf(placebo)).toMatchObject([{ wanted: 6, admitted: 5, refills: 0 }]);
  const made = await placebo.store.tasks.list(placebo.campaignId, { verdict: 'admitted' });
  const count = (aim: string): number => made.filter(({ id }) => id.includes(`/${aim}/`)).length;
  expect(['forgetting', 'boundary', 'rare'].map(count)).toEqual([1, 2, 2]);
});

test('a pool that grows once admits what the other admits in all iterations', async () => {
  const other = await otherCampaign([{ rare: 2 }, { rare: 3 }]);
  const fixed = await control(other.name, { aims: 'random', when: 'first', candidatesPerSignal: 4 });
  await propose(fixed, 0, { random: 9 });
  await expect(admitRefill(fixed, 0)).rejects.toMatchObject({
    code: 'MatchTooEarly',
    message: expect.stringMatching(/has not validated iteration 3 yet; once it has, `coevolve resume c-/),
  });
  await admitInto(other, 3, { boundary: 1 });
  await expect(admitRefill(fixed, 0)).resolves.toEqual([]);
  expect(await matchesOf(fixed)).toMatchObject([{ wanted: 6, admitted: 6 }]);
  await expect(refillSizeOf(fixed.services, fixed.key, fixed.spec, { aim: 'random', refill: 0 })).resolves.toEqual({
    candidates: 0,
    contexts: 0,
  }); // no signal flags a task here
});

test('a cell counts every parent once in an iteration, also where its candidates are rejected', async () => {
  const campaign = await otherCampaign([{ boundary: 1 }]);
  const [seed] = await campaign.store.tasks.list(campaign.campaignId, { verdict: 'admitted' });
  const from = (parentTaskId: string, pattern: string, n: number) => ({
    id: candidateTaskId(1, 'rare', n),
    changes: { parentTaskId, features: { pattern } },
  });
  await proposeValidated(campaign, [from(seed!.id, 'join', 0), from(seed!.id, 'join', 1)]);
  await proposeValidated(campaign, [from(candidateTaskId(1, 'rare', 0), 'order', 2)]);
  const hash = await contentHash(campaign.pool, campaign.campaignId);
  const { manifest } = await cellManifest(campaign.pool, campaign.campaignId, hash, ['pattern']);
  expect(manifest.parents).toEqual([
    { iteration: 1, feature: 'pattern', category: 'count', tasks: 1 },
    { iteration: 1, feature: 'pattern', category: 'join', tasks: 1 },
  ]);
});

test('a cell that was played elsewhere is matched by the numbers in its manifest', async () => {
  const other = await otherCampaign([{ boundary: 3, rare: 2 }, { rare: 4 }]);
  const { pool, name, campaignId } = other;
  const experiment = await insertFrozen(pool, twoArms({ name, looks: [1], concurrency: 1 }, {}, {}));
  const { manifest } = await cellManifest(pool, campaignId, await contentHash(pool, campaignId), ['pattern']);
  expect(manifest.pool).toEqual([
    { iteration: 1, feature: 'pattern', category: 'count', tasks: 5 },
    { iteration: 2, feature: 'pattern', category: 'count', tasks: 4 },
  ]);
  const cell = { ...simulatedCell('short', 1), campaign: `${name}-short-s1`, manifest };
  await other.store.experimentRecords.saveImported(experiment, [cell], []);

  const placebo = await control(cell.campaign, { aims: 'shuffled' });
  await propose(placebo, 0, { boundary: 4, rare: 1 });
  await expect(admitRefill(placebo, 0)).resolves.toEqual(['rare']);
  expect(await matchesOf(placebo)).toMatchObject([{ matched: cell.campaign, wanted: 5, admitted: 4 }]);
  const fixed = await control(cell.campaign, { aims: 'random', when: 'first' });
  await propose(fixed, 0, { random: 2 });
  await expect(admitRefill(fixed, 0)).resolves.toEqual(['random']);
  expect(await matchesOf(fixed)).toMatchObject([{ wanted: 9, admitted: 2 }]);
  const unknown = await control(`${name}-long-s1`, { aims: 'random' });
  await expect(admitRefill(unknown, 0)).rejects.toMatchObject({ code: 'UnknownCampaign' });
});

test('an iteration in which the other does not grow wants no task', async () => {
  const other = await otherCampaign([], { synthesis: { aims: 'none' } });
  const random = await control(other.name, { aims: 'random' });
  await propose(random, 0, { random: 2 });
  await expect(admitRefill(random, 0)).resolves.toEqual([]);
  expect(await matchesOf(random)).toMatchObject([{ wanted: 0, admitted: 0 }]);
});

test('tasks that an operator approves are not refilled, because no operator has seen the later ones', async () => {
  const other = await otherCampaign([{ rare: 5 }]);
  const random = await control(other.name, { aims: 'random', approval: true });
  await propose(random, 0, { random: 2 });
  await expect(admitRefill(random, 0)).rejects.toMatchObject({ code: 'ApprovalNeeded' });
  const detail = { iteration: 1, rejected: [] };
  await createStore(database.pool).campaigns.recordEvent(random.campaignId, {
    kind: 'approved',
    actor: 'test',
    detail,
  });
  await expect(admitRefill(random, 0)).resolves.toEqual([]);
  expect(await matchesOf(random)).toMatchObject([{ wanted: 5, admitted: 2 }]);
});

test('an unmatched campaign is never refilled', async () => {
  const campaign = await taskCampaign(database.pool);
  await propose(campaign, 0, { rare: 1 });
  await expect(admitRefill(campaign, 0)).resolves.toBeNull();
  expect(await matchesOf(campaign)).toEqual([]);
});
