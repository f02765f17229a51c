import { evaluatePolicy } from '../../../src/activities/evaluate/evaluate-policy';
import type { IterationKey } from '../../../src/store/database/epoch';
import { attempt, hash, task } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { taskCampaign, type TaskCampaign } from '../context/task-campaign';
import { playedAtDev } from './played-at-dev';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const tasks = ['d1', 'd2', 'd3'];

/** Trains a policy in the iteration, and plays dev once. */
async function playedFirst(campaign: TaskCampaign, key: IterationKey, policyId: string, rewards: readonly number[]) {
  await playedAtDev(campaign, key, policyId, new Map(rewards.map((reward, n) => [tasks[n]!, reward])));
  return key;
}

/** Trains a policy in the iteration, plays dev with these rewards (null: a fault) and decides. */
async function evaluated(
  campaign: TaskCampaign,
  key: IterationKey,
  policyId: string,
  rewards: readonly (number | null)[],
): Promise<void> {
  await playedAtDev(campaign, key, policyId, new Map(rewards.map((reward, n) => [tasks[n]!, reward])));
  await evaluatePolicy(campaign.services)(key);
}

test('of several attempts a task counts with the share that solves it, and is won where that share rises', async () => {
  const evaluation = { attempts: 2, temperature: 0.7 };
  const campaign = await taskCampaign(database.pool, { evaluation }, { iteration: 0 });
  const { store, campaignId, key } = campaign;
  await store.tasks.seed(
    key,
    tasks.map((id) => task(id, { split: 'held-out' })),
  );
  const second = (at: IterationKey, policyId: string, rewards: readonly number[]) =>
    Promise.all(
      rewards.map((reward, n) =>
        store.trajectories.save(
          attempt(at, { purpose: 'evaluation', policyId, taskId: tasks[n]!, attempt: 1, reward }),
        ),
      ),
    );
  await second(await playedFirst(campaign, key, hash('c'), [1, 1, 0]), hash('c'), [0, 1, 0.5]);
  await evaluatePolicy(campaign.services)(key);
  await store.policies.setActivePolicy(key, 'target', null, hash('c'));
  const next = { ...key, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  await second(await playedFirst(campaign, next, hash('d'), [1, 1, 1]), hash('d'), [1, 0.25, 0]);
  await evaluatePolicy(campaign.services)(next);

  const [start, later] = await store.evaluations.list(campaignId);
  expect(start).toMatchObject({ tasks: 3, successes: 1.5, meanReward: 3.5 / 6 });
  expect(start!.successHigh - start!.successLow).toBeLessThan(1);
  expect(later).toMatchObject({ tasks: 3, successes: 2, wins: 2, losses: 1, mcnemarP: 1 });
  expect(later!.meanDifference).toBeCloseTo((4.25 - 3.5) / 6, 12);
  const [atStart] = await store.evaluations.listSetScores(campaignId);
  expect(atStart).toMatchObject({ successes: 1.5, attempts: 6 });
  expect(atStart!.passAt).toEqual([0.5, expect.closeTo(2 / 3, 12)]);
});

test('a decision names unequal exclusions, and a training without an update', async () => {
  const campaign = await taskCampaign(database.pool, { promotion: { rule: 'not-worse' } }, { iteration: 0 });
  const { store, campaignId, key } = campaign;
  await store.tasks.seed(
    key,
    tasks.map((id) => task(id, { split: 'held-out' })),
  );
  await evaluated(campaign, key, hash('a'), [1, 1, 0]);
  await store.policies.setActivePolicy(key, 'target', null, hash('a'));
  const next = { ...key, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  await evaluated(campaign, next, hash('b'), [1, 1, null]);
  expect(await store.policies.findDecision(campaignId, 1, 'target')).toMatchObject({
    decision: 'promote',
    reason: expect.stringMatching(/; unequal exclusions: candidate 1 of 3 \(33\.3 %\), incumbent 0 of 3$/) as unknown,
  });

  const last = { ...key, iteration: 2, epoch: await store.iterations.open(campaignId, 2) };
  await evaluated(campaign, last, hash('b'), [1, 1, 1]); // no step of its training made an update
  expect(await store.policies.findDecision(campaignId, 2, 'target')).toMatchObject({
    decision: 'keep',
    reason: 'no step of the training made an update',
  });
});
