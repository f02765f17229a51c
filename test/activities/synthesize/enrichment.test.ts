import { createRandom } from '../../../src/domain/random/seeded-random';
import { mean } from '../../../src/domain/evaluation/statistics';
import { actionPatterns } from '../../../src/domain/signals/action-pattern';
import { feedbackSignalKinds } from '../../../src/domain/signals/feedback-signal';
import { seedTasks } from '../../../src/activities/plan/seed-tasks';
import { synthesizeTasks } from '../../../src/activities/synthesize/synthesize-tasks';
import { admitTasks } from '../../../src/activities/validate/admit-tasks';
import { environmentData } from '../../../src/envs/server/environment-data';
import type { TaskRow } from '../../../src/store/tasks/tasks';
import { listEnrichments, type EnrichmentRow } from '../../../src/store/trajectories/enrichments';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { attempt, step } from '../../store/support/new-campaign';
import { inActivity } from '../context/in-activity';
import { playTasks, taskCampaign, type TaskCampaign } from '../context/task-campaign';

let database: FreshDatabase;
let environment: EnvironmentServer;
beforeAll(async () => {
  database = await freshDatabase();
  environment = await startEnvironmentServer('--environments', 'intercode-sql,warehouse');
});
afterAll(async () => {
  await environment.kill();
  await database.drop();
});

const generators = {
  'intercode-sql': { databases: ['singer', 'orchestra', 'tvshow', 'pets_1'] },
  warehouse: {},
};

/** Creates a campaign in iteration 1 whose signals flag eight of ten tasks of a region, and one of ten others. */
async function flaggedRegion(name: keyof typeof generators, aims: string): Promise<TaskCampaign> {
  const campaign = await taskCampaign(
    database.pool,
    {
      environment: { name, options: generators[name], trainTasks: 90, heldOutTasks: 4 },
      synthesis: { aims, candidatesPerSignal: 24 },
    },
    { iteration: 0 },
  );
  const { services, store, key, campaignId } = campaign;
  services.environmentData = environmentData(environment);
  await inActivity(() => seedTasks(services)(key));
  const tasks = await store.tasks.list(campaignId, { split: 'train' });
  await playTasks(campaign, 1, Object.fromEntries(tasks.map(({ id }) => [id, [0]])));
  campaign.key = { campaignId, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  const attempts = await store.attemptGroups.listAttempts(campaignId, 1);
  const policyId = (await store.policies.list(campaignId))[0]!.id;
  await store.attemptGroups.save(
    campaign.key,
    { iteration: 1, extractor: 'bigram' },
    [tasks.map((task) => ({ taskId: task.id, policyId, attempts: [] }))],
    () => [],
  );
  const random = createRandom(3);
  const region = regionOf(tasks);
  const flagged = tasks.filter((task) => random.next() < (region.has(patternOf(task)) ? 0.8 : 0.1));
  await store.feedbackSignals.save(
    campaign.key,
    feedbackSignalKinds.flatMap((kind) =>
      flagged.map(({ id, referenceActions }) => ({
        kind,
        taskId: id,
        trajectoryId: attempts.get(id)![0]!,
        strength: 0.5,
        detail: { pattern: actionPatterns(referenceActions, 'bigram')[0]! },
      })),
    ),
  );
  return campaign;
}

const patternOf = ({ features }: TaskRow): string => String(features['pattern']);

/** The patterns that sort last, with about a quarter of the tasks. */
function regionOf(tasks: readonly TaskRow[]): Set<string> {
  const patterns = tasks.map(patternOf).sort();
  return new Set(patterns.slice(Math.floor(patterns.length * 0.75)));
}

/** Makes the variants of all signals, plays the solutions of those whose ids pass, and admits. */
async function enrichments(campaign: TaskCampaign): Promise<EnrichmentRow[]> {
  const { services, store, key, campaignId } = campaign;
  for (const aim of feedbackSignalKinds) await inActivity(() => synthesizeTasks(services)({ ...key, aim }));
  for (const { id, referenceActions } of await store.tasks.list(campaignId, { verdict: 'candidate' })) {
    const run = { purpose: 'validation', taskId: id, turns: referenceActions.map(step) } as const;
    await store.trajectories.save(attempt(key, { ...run, reward: 1, rawScore: 1 }));
  }
  await inActivity(() => admitTasks(services)(key));
  const found = await listEnrichments(database.pool, campaignId);
  // An update moves rows: their order in the table changes nothing.
  await database.pool.query(`update tasks set verdict = verdict where parent_task_id is not null and id like '%1'`);
  expect(await listEnrichments(database.pool, campaignId, 1)).toEqual(found);
  expect(await listEnrichments(database.pool, campaignId, 2)).toEqual([]);
  return found;
}

const steps = ['parents', 'candidates', 'admitted'] as const;

describe.each(Object.keys(generators) as (keyof typeof generators)[])('%s', (name) => {
  test('parents, candidates and admitted tasks have more of what each signal flags than a placebo', async () => {
    const signals = await enrichments(await flaggedRegion(name, 'signals'));
    const placebo = await enrichments(await flaggedRegion(name, 'shuffled'));
    expect(signals.map(({ kind }) => kind).sort()).toEqual([...feedbackSignalKinds].sort());
    for (const row of signals) {
      const drawn = placebo.find(({ kind }) => kind === row.kind)!;
      for (const at of steps) {
        expect(row[at].tasks).toBeGreaterThan(5);
        expect(row[at].ratio).toBeGreaterThan(1.15);
        expect(drawn[at].ratio).toBeLessThan(1);
      }
    }
  });

  test('variants that do not depend on their parent are not enriched', async () => {
    const campaign = await flaggedRegion(name, 'signals');
    const { environmentData: data } = campaign.services;
    campaign.services.environmentData = {
      ...data,
      async variants(environmentName, request) {
        const drawn = await data.variants(environmentName, { ...request, relation: 'random' });
        return drawn.map((record, n) => ({ ...record, parent: n % request.parents.length }));
      },
    };
    const found = await enrichments(campaign);
    for (const { parents } of found) expect(parents.ratio).toBeGreaterThan(1.15);
    expect(mean(found.map(({ candidates }) => candidates.ratio!))).toBeLessThan(1.15);
  });
});
