import { effortOf } from '../../../src/store/experiment/effort';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { addPolicy, attempt, hash, newCampaign, task, trainingRun } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const both = (amount: unknown) => ({ nominal: amount, paid: amount });
const alone = (trajectoryId: string) => ({ trajectoryId, pairId: null });

test('effort adds up over the iterations, counts training attempts and the pairs of the target alone, and leaves waiting out', async () => {
  const { pool } = database;
  const campaign = await newCampaign(pool, 0);
  const { store, campaignId, name, key: start } = campaign;
  await store.tasks.seed(start, [task('seed')]);
  const expert = await store.trajectories.save(attempt(start, { taskId: 'seed' })); // no training attempt
  const jobKey = `campaign/${name}/iteration/0/train/target`;
  await store.trainingRuns.save(start, trainingRun(jobKey, { gpus: 2, settings: { batch_size: 4 } }), [
    alone(expert.id),
  ]);
  await store.trainingRuns.succeed({ jobKey, epoch: 1 }, hash('a'), { tokens: 300, seconds: 4, updates: 7 });
  await store.ledger.bookTraining({ jobKey, epoch: 1 }, { tokens: 300, seconds: 4 }, true);

  const key = { ...start, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  const policyId = await addPolicy({ ...campaign, key }, { id: hash('b') });
  const played = { taskId: 'seed', policyId, reward: 0 };
  const failed = await store.trajectories.save(attempt(key, { ...played, purpose: 'train' }));
  const nearer = await store.trajectories.save(attempt(key, { ...played, reward: 0.5, purpose: 'train', attempt: 1 }));
  const succeeded = await store.trajectories.save(attempt(key, { ...played, reward: 1, purpose: 'train', attempt: 2 }));
  await store.trajectories.save(attempt(key, { ...played, purpose: 'evaluation' }));
  const pair = { taskId: 'seed', hardNegative: false, lambdaDpo: 1, chosenReward: 1, rejectedReward: 0 };
  for (const forRole of ['target', 'failure'] as const)
    await store.preferencePairs.save(key, forRole, {
      pairs: [
        { ...pair, forRole, kind: 'expert-target', lambdaSft: 0.1, chosenId: expert.id, rejectedId: failed.id },
        { ...pair, forRole, kind: 'failure-failure', lambdaSft: 0, chosenId: nearer.id, rejectedId: failed.id },
      ],
      dropped: [],
    });
  const ofPairs = { method: 'target', datasetRows: 4, settings: { batch_size: 4 } } as const;
  const pairIds = await store.preferencePairs.listIds(campaignId, 1, 'target');
  await store.trainingRuns.save(key, trainingRun(`${jobKey}/pairs`, ofPairs), [
    ...pairIds.map((pairId) => ({ trajectoryId: null, pairId })),
    alone(expert.id),
    alone(succeeded.id),
  ]);
  const used = { tokens: 0, seconds: 0, updates: 3 };
  await store.trainingRuns.succeed({ jobKey: `${jobKey}/pairs`, epoch: key.epoch }, policyId, used);
  await pool.query(`update iterations set started_at = now() - interval '100 s', finished_at = now()
    where campaign_id = ${campaignId}`);
  await pool.query(`insert into events (campaign_id, kind, actor, recorded_at) values
    (${campaignId}, 'paused', 'test', now() - interval '60 s'), (${campaignId}, 'resumed', 'test', now() - interval '30 s')`);

  const wall = (seconds: number) => both(expect.closeTo(seconds, 0));
  await expect(effortOf(pool, campaignId)).resolves.toEqual([
    {
      checkpoint: 0,
      effort: {
        environmentAttempts: both(0),
        rolloutTokens: both(0),
        updates: both(7),
        trainedTokens: both(300),
        targetPairs: both(0),
        expertTargetPairs: both(0),
        expertFailurePairs: both(0),
        expertPositivePairs: both(0),
        failurePairs: both(0),
        likelihoodRows: both(28),
        expertRows: both(28),
        admittedTasks: both(0),
        flags: both(0),
        modelTokens: both(0),
        usd: both(0),
        gpuSeconds: both(8),
        wallSeconds: wall(70),
      },
    },
    {
      checkpoint: 1,
      effort: {
        environmentAttempts: both(3),
        rolloutTokens: both(15),
        updates: both(10),
        trainedTokens: both(310),
        targetPairs: both(2),
        expertTargetPairs: both(1),
        expertFailurePairs: both(0),
        expertPositivePairs: both(0),
        failurePairs: both(1),
        likelihoodRows: both(28 + 9), // 3 updates x 4 rows, of which one of 4 has no such term
        expertRows: both(28 + 6),
        admittedTasks: both(0),
        flags: both(0),
        modelTokens: both(0),
        usd: both(0),
        gpuSeconds: both(8),
        wallSeconds: wall(140),
      },
    },
  ]);
});
