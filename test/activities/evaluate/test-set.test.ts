import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { detectSignals } from '../../../src/activities/detect/detect-signals';
import { evaluatePolicy } from '../../../src/activities/evaluate/evaluate-policy';
import { planTest } from '../../../src/activities/evaluate/test-set';
import { scoreTest } from '../../../src/activities/evaluate/test-set';
import { buildPreferencePairs } from '../../../src/activities/pair/build-preference-pairs';
import { planIteration } from '../../../src/activities/plan/plan-iteration';
import { choosePolicies } from '../../../src/activities/rollout/choose-policies';
import { admitTasks } from '../../../src/activities/validate/admit-tasks';
import { planCalibration } from '../../../src/activities/validate/plan-calibration';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import { trainingJobKey } from '../../../src/domain/campaign/ids';
import { contentHash } from '../../../src/store/audit/content-hash';
import type { IterationKey } from '../../../src/store/database/epoch';
import { attempt, candidate, hash, step, task, trainingRun } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { taskCampaign, verdictsOf, type TaskCampaign } from '../context/task-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const [start, better] = [hash('a'), hash('b')];
const ids = (prefix: string): string[] => Array.from({ length: 8 }, (_, n) => `${prefix}${n}`);

/** Opens an iteration and registers the policy that it trained. */
async function trained(
  { store, campaignId, name }: TaskCampaign,
  iteration: number,
  id: string,
): Promise<IterationKey> {
  const key = { campaignId, iteration, epoch: await store.iterations.open(campaignId, iteration) };
  const jobKey = trainingJobKey(name, iteration, 'target');
  await store.trainingRuns.save(key, trainingRun(jobKey, { seed: 1 }), []);
  await store.policies.save(key, { id, role: 'target', parentId: null, trainingRun: jobKey, uri: `file:///${id}` });
  await store.trainingRuns.succeed({ jobKey, epoch: key.epoch }, id, { tokens: 1, seconds: 1 });
  return key;
}

async function play(
  { store }: TaskCampaign,
  key: IterationKey,
  purpose: 'evaluation' | 'test' | 'train',
  { policyId, rewards }: { policyId: string; rewards: Record<string, number> },
): Promise<void> {
  for (const [taskId, reward] of Object.entries(rewards))
    for (const n of purpose === 'train' ? [0, 1] : [0])
      await store.trajectories.save(
        attempt(key, {
          purpose,
          taskId,
          policyId,
          attempt: n,
          reward: purpose === 'train' ? (reward + n) % 2 : reward,
        }),
      );
}

const rewardsOf = (prefix: string, reward: (n: number) => number): Record<string, number> =>
  Object.fromEntries(ids(prefix).map((id, n) => [id, reward(n)]));

/** Makes all choices of a campaign whose policies have this reward on test, and returns its rows. */
async function choicesWith(onTest: (n: number) => number) {
  const campaign = await taskCampaign(database.pool, { recipe: 'combined', promotion: { rule: 'not-worse' } });
  const { store, services } = campaign;
  const deps: Dependencies = services;
  const first = await trained(campaign, 0, start);
  await store.tasks.seed(first, [
    ...ids('seed').map((id) => task(id)),
    ...ids('dev').map((id) => task(id, { split: 'held-out' })),
    ...ids('test').map((id) => task(id, { split: 'held-out', evaluationSet: 'test' })),
  ]);
  await planIteration(deps)(first);
  for (const taskId of ids('seed')) await store.trajectories.save(attempt(first, { taskId, turns: [step('a')] }));
  await store.policies.setActivePolicy(first, 'target', null, start);
  await play(campaign, first, 'evaluation', { policyId: start, rewards: rewardsOf('dev', (n) => n % 2) });
  await evaluatePolicy(deps)(first);
  await score(campaign, first, start, onTest);

  const key = await trained(campaign, 1, better);
  await store.iterations.beginPhase({ ...key, phase: 'detect', previous: null });
  await planIteration(deps)(key);
  await play(campaign, key, 'train', { policyId: start, rewards: rewardsOf('seed', (n) => n % 2) });
  await detectSignals(deps)(key);
  await store.tasks.propose(key, [
    candidate('made', { goal: 'Which singers are old?' }),
    candidate('leak', { contentKey: 'key of test0' }),
  ]);
  await store.iterations.beginPhase({ ...key, phase: 'synthesize', previous: null });
  await planValidation(deps)(key);
  for (const taskId of ['made', 'leak'])
    await store.trajectories.save(attempt(key, { purpose: 'validation', taskId, turns: [step('select 1')] }));
  await admitTasks(deps)(key);
  expect(await verdictsOf(campaign)).toMatchObject({ made: 'admitted', leak: 'held-out' }); // texts of test are read
  await planCalibration(deps)(key);
  await store.iterations.beginPhase({ ...key, phase: 'pair', previous: null });
  await buildPreferencePairs(deps)(key);
  await play(campaign, key, 'evaluation', { policyId: better, rewards: rewardsOf('dev', (n) => (n < 5 ? 1 : 0)) });
  const decided = await evaluatePolicy(deps)(key);
  await score(campaign, key, better, (n) => 1 - onTest(n));
  const retried = await evaluatePolicy(deps)(key); // a retry finds scores on test of both policies

  const next = { ...key, iteration: 2, epoch: await store.iterations.open(key.campaignId, 2) };
  await planIteration(deps)(next);
  await planTest(deps)(next); // scored in iteration 1
  const acts = await choosePolicies(deps)({ ...next, purpose: 'train', roles: ['target'], step: 0 });
  return {
    campaign,
    acts,
    decisions: [decided, retried],
    parts: (await contentHash(database.pool, key.campaignId)).parts,
  };
}

/** Plays and scores the active policy on test, as the evaluate phase does after its decision. */
async function score(
  campaign: TaskCampaign,
  key: IterationKey,
  policyId: string,
  onTest: (n: number) => number,
): Promise<void> {
  await planTest(campaign.services)(key);
  await play(campaign, key, 'test', { policyId, rewards: rewardsOf('test', onTest) });
  await scoreTest(campaign.services)(key);
}

test('the choices of a campaign are the same whatever its policies score on test', async () => {
  const [good, bad] = [await choicesWith(() => 1), await choicesWith((n) => (n === 0 ? 1 : 0))];
  expect(good.acts).toEqual(bad.acts);
  expect(good.decisions).toEqual(bad.decisions);
  expect(good.decisions).toMatchObject([{ score: 5 / 8 }, { score: 5 / 8 }]);
  expect(good.acts).toMatchObject([{ policyId: better }]);
  const { campaign: _spec, trainingRuns: _runs, ...others } = good.parts;
  const { trajectories, evaluations, ...choices } = others;
  for (const [part, rows] of Object.entries(choices))
    expect([part, rows]).toEqual([part, bad.parts[part as keyof typeof choices]]);
  for (const part of ['signals', 'pairs', 'promotions', 'admissions', 'plans'] as const)
    expect(good.parts[part].rows).toBeGreaterThan(0);
  expect(trajectories).not.toEqual(bad.parts.trajectories); // the scores on test differ
  expect(evaluations).not.toEqual(bad.parts.evaluations);
  const onDev = await good.campaign.store.evaluations.list(good.campaign.campaignId);
  expect(onDev).toEqual(await bad.campaign.store.evaluations.list(bad.campaign.campaignId));
  const onTest = await good.campaign.store.evaluations.listReported(good.campaign.campaignId);
  expect(onTest).toMatchObject([
    { iteration: 0, policyId: start, evaluationSet: 'test', tasks: 8, successes: 8, incumbentId: null },
    { iteration: 1, policyId: better, evaluationSet: 'test', tasks: 8, successes: 0, meanDifference: null },
  ]);
});

test('an active policy without a score on test, as after a skipped phase, is scored in the next iteration', async () => {
  const campaign = await taskCampaign(database.pool, {});
  const { store, services } = campaign;
  const first = await trained(campaign, 0, start);
  await store.tasks.seed(
    first,
    ids('test').map((id) => task(id, { split: 'held-out', evaluationSet: 'test' })),
  );
  await store.policies.setActivePolicy(first, 'target', null, start);
  const key = { ...first, iteration: 1, epoch: await store.iterations.open(first.campaignId, 1) };
  await planTest(services)(key);
  const roles = ['target'] as const;
  expect(await choosePolicies(services)({ ...key, purpose: 'test', roles, step: 0 })).toMatchObject([
    { policyId: start, range: { from: 0, to: 8 } },
  ]);
  await score(campaign, key, start, () => 1);
  const later = { ...first, iteration: 2, epoch: await store.iterations.open(first.campaignId, 2) };
  await planTest(services)(later);
  expect(await store.tasks.countPlanned(later, 'test')).toBe(0);
});

/** Files that may read scores on test: they play, store, check, print or copy them, and choose nothing. */
const readers = [
  'src/activities/campaign/phase-records.ts', // counts and missing attempts of the phase
  'src/activities/evaluate/test-set.ts', // the plan reads whether a policy has been scored, not how well
  'src/store/audit/compare.ts',
  'src/store/audit/evaluation-invariants.ts',
  'src/store/audit/invariant-queries.ts',
  'src/store/experiment/cell-manifest.ts', // counts of attempts
  'src/store/experiment/scores.ts', // of finished cells
  'src/store/training/evaluations.ts',
  'src/store/training/scenarios.ts',
  'src/store/training/set-scores.ts',
  'src/store/trajectories/whole-attempts.ts', // exports alone read it
];
const readerFolders = ['report', 'client', 'cli', 'workflows', 'server', 'exports', 'store/reporting'].map(
  (folder) => `src/${folder}/`,
);

test('only reports read attempts and evaluations on test', () => {
  const root = path.resolve(__dirname, '../../..');
  const files = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.join('src', file));
  const readsTest =
    /purpose[^\n]*'test'|then 'evaluation' else 'test'|listReported|listSetScores|from (?:reporting\.)?evaluations\b/;
  const found = files.filter((file) => readsTest.test(readFileSync(path.join(root, file), 'utf8')));
  const others = found.filter(
    (file) => !readers.includes(file) && !readerFolders.some((folder) => file.startsWith(folder)),
  );
  expect(others.sort()).toEqual(['src/domain/rollout/trajectory.ts', 'src/store/audit/content-hash.ts']);
  expect(readers.filter((file) => !found.includes(file))).toEqual([]);
});
