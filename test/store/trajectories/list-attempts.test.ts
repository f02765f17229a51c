import { listAttempts, type AttemptFilter } from '../../../src/store/trajectories/list-attempts';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { fullCampaign, ids } from '../support/campaign-rows';
import { attempt, task, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await fullCampaign(database.pool);
  const { store, key } = campaign;
  await store.tasks.seed(key, [task('slow'), task('broken')]);
  const played = { purpose: 'train', policyId: ids.start } as const;
  await store.trajectories.save(attempt(key, { ...played, taskId: 'slow', reward: 0.5, seconds: 60 }));
  const fault = { outcome: 'environment-fault', reward: null, rawScore: null, stopReason: 'fault' } as const;
  await store.trajectories.save(attempt(key, { ...played, taskId: 'broken', ...fault, fault: '100_% of memory' }));
});
afterAll(() => database.drop());

const list = async (filter: AttemptFilter, by: 'time' | 'duration' | 'reward' = 'time', ascending = false) =>
  (await listAttempts(database.pool, campaign.campaignId, filter, { by, ascending, limit: null })).rows;

const tasksOf = async (...args: Parameters<typeof list>) => (await list(...args)).map(({ taskId }) => taskId);

test.each<[AttemptFilter, string[]]>([
  [{ purposes: ['train'] }, ['broken', 'seed', 'slow']],
  [{ purposes: ['expert'], iteration: 0 }, ['seed']],
  [{ purposes: ['expert'], iteration: 1 }, []],
  [{ task: 'slow' }, ['slow']],
  [{ split: 'held-out' }, []],
  [{ role: 'target' }, ['broken', 'seed', 'slow']],
  [{ policy: ids.start.slice(0, 6) }, ['broken', 'seed', 'slow']],
  [{ policy: 'ffff' }, []],
  [{ outcome: 'environment-fault' }, ['broken']],
  [{ stopReason: 'fault' }, ['broken']],
  [{ minReward: 0.4, maxReward: 0.6 }, ['slow']],
  [{ purposes: ['train'], maxReward: 0 }, ['seed']],
  [{ fault: '0_% OF' }, ['broken']],
  [{ fault: 'failed once' }, ['seed']], // the fault of an earlier try
  [{ fault: '1__%' }, []], // no wildcard
  [{ signal: 'forgetting' }, ['seed']],
  [{ signal: 'rare' }, []],
])('the filter %j keeps the attempts at %j', async (filter, expected) => {
  expect((await tasksOf(filter)).sort()).toEqual(expected);
});

test('attempts are sorted, those without a value last, and a limit counts the others', async () => {
  const { pool } = database;
  expect(await tasksOf({ purposes: ['train'] }, 'duration')).toEqual(['slow', 'broken', 'seed']);
  expect(await tasksOf({ purposes: ['train'] }, 'reward')).toEqual(['slow', 'seed', 'broken']);
  expect(await tasksOf({ purposes: ['train'] }, 'reward', true)).toEqual(['seed', 'slow', 'broken']);
  const page = await listAttempts(pool, campaign.campaignId, { purposes: ['train'] }, { by: 'reward', limit: 1 });
  expect(page).toMatchObject({ total: 3, rows: [{ taskId: 'slow' }] });
});

test('an attempt has its id, agent, signals and the faults of its earlier tries', async () => {
  const [row] = await list({ signal: 'forgetting' });
  expect(row).toMatchObject({
    id: ids.failed,
    role: 'target',
    reward: 0,
    signals: ['forgetting'],
    faults: 1,
    turns: 1,
  });
  await expect(campaign.store.trajectories.get(campaign.campaignId, row!.id)).resolves.toMatchObject({
    id: ids.failed,
  });
});
