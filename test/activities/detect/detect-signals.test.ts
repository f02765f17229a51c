import { detectSignals } from '../../../src/activities/detect/detect-signals';
import { iterationSeed } from '../../../src/domain/campaign/iteration-seed';
import { createRandom } from '../../../src/domain/random/seeded-random';
import type { IterationKey } from '../../../src/store/database/epoch';
import { addPolicy, attempt, hash, step, task } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { taskCampaign, type TaskCampaign } from '../context/task-campaign';
import * as inMemory from '../../domain/signals/detect';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const iterations = [1, 2, 3, 4];

/** Two agents play 12 tasks three times in each iteration; in iteration 4 the target has a second policy. */
async function playedCampaign(signals: object = {}): Promise<TaskCampaign> {
  const campaign = await taskCampaign(database.pool, { signals }, { iteration: 1 });
  const { store, campaignId } = campaign;
  const random = createRandom(5);
  const taskIds = Array.from({ length: 12 }, (_, n) => `task-${n}`);
  await store.tasks.seed(
    campaign.key,
    taskIds.map((id, n) => task(id, { features: { pattern: `type-${n % 3}` } })),
  );
  for (const iteration of iterations) {
    const key = { campaignId, iteration, epoch: await store.iterations.open(campaignId, iteration) };
    const roles = [...(['target', 'failure'] as const), ...(iteration === 4 ? (['target'] as const) : [])];
    for (const [n, role] of roles.entries()) {
      const policyId = await addPolicy({ ...campaign, key }, { id: hash((3 * iteration + n).toString(16)), role });
      for (const [t, taskId] of taskIds.entries()) {
        if ((t + iteration) % 4 === 0) continue;
        for (const k of [0, 1, 2]) {
          const turns = Array.from({ length: random.integer(4) }, () =>
            step(`f${random.integer(9) ** 2 % 23}(1, "x")`),
          );
          const reward = [0, 0.25, 0.5, 0.7, 1, 1][random.integer(6)]!;
          const played = { purpose: 'train', taskId, policyId, attempt: n === 2 ? 3 + k : k, reward, turns } as const;
          await store.trajectories.save(attempt(key, played));
        }
      }
    }
  }
  return campaign;
}

const keyOf = ({ campaignId }: TaskCampaign, iteration: number): IterationKey => ({ campaignId, iteration, epoch: 1 });

async function detect(campaign: TaskCampaign, numbers = iterations): Promise<void> {
  for (const iteration of numbers) await detectSignals(campaign.services)(keyOf(campaign, iteration));
}

async function storedRows({ pool, campaignId }: TaskCampaign, iteration: number): Promise<object> {
  const signals = await pool.query(
    `select kind, task_id as "taskId", trajectory_id as "trajectoryId", strength, detail from feedback_signals
     where campaign_id = $1 and iteration = $2 order by array_position(array['forgetting', 'boundary', 'rare'], kind), ordinal`,
    [campaignId, iteration],
  );
  const rates = await pool.query(
    `select kind, played, flagged, unchanged, permutations from signal_rates where campaign_id = $1 and iteration = $2
     order by array_position(array['forgetting', 'boundary', 'rare'], kind)`,
    [campaignId, iteration],
  );
  return { signals: signals.rows, rates: rates.rows };
}

/** Returns the rows that detection over all attempts in memory gives. */
async function expectedRows({ store, campaignId, spec }: TaskCampaign, iteration: number): Promise<object> {
  const all = await store.trajectories.listScored(campaignId, iteration);
  const current = all.filter((one) => one.iteration === iteration);
  const history = all.filter((one) => one.iteration < iteration);
  const random = createRandom(iterationSeed(spec, iteration, 'unchanged-policy'));
  return {
    signals: inMemory.detectSignals(current, history, spec.signals),
    rates: inMemory.rateSignals(current, history, spec.signals, random),
  };
}

const rare = { minTotal: 10, thetaPercent: 20 };

test.each([
  { rare },
  { rare: { ...rare, pattern: 'whole', measure: 'share', among: 'all' } },
  { rare: { ...rare, pattern: 'trigram', countUnit: 'trajectories' }, forgetting: { score: 'rollout', window: 1 } },
  { rare: { ...rare, pattern: 'name-set', minCount: 2 }, forgetting: { score: 'mean', history: 'running', window: 2 } },
  { rare, forgetting: { scope: 'task-type', maxP: 0.5 } },
  { rare: { enabled: false }, forgetting: { scope: 'task-type', score: 'mean', window: 2 } },
  { rare: { enabled: false }, forgetting: { score: 'max', window: 2 }, boundary: { enabled: false } },
])('with settings %j, the stored rows are those of all attempts in memory', async (signals) => {
  const campaign = await playedCampaign(signals);
  await detect(campaign);
  for (const iteration of iterations)
    expect(await storedRows(campaign, iteration)).toEqual(await expectedRows(campaign, iteration));
});

describe('a detection reads no actions of earlier iterations', () => {
  test('their turns may be gone, and a repeated detection changes nothing', async () => {
    const campaign = await playedCampaign({ rare });
    const expected = await expectedRows(campaign, 4);
    await detect(campaign, [1, 2, 3]);
    await database.pool.query(`delete from trajectory_turns where campaign_id = $1 and trajectory_id not like '4/%'`, [
      campaign.campaignId,
    ]);
    await detect(campaign, [4]);
    await detect(campaign, [4]);
    expect(await storedRows(campaign, 4)).toEqual(expected);
  });

  test('a campaign of release 0.1.0, whose earlier iterations have no groups, gets them', async () => {
    const campaign = await playedCampaign({ rare });
    await detect(campaign, [4]);
    expect(await storedRows(campaign, 4)).toEqual(await expectedRows(campaign, 4));
  });

  test('a campaign with the groups of another extractor, such as a fork, counts its patterns again', async () => {
    const campaign = await playedCampaign({ rare });
    await detect(campaign, [1, 2, 3]);
    await database.pool.query(
      `update campaigns set spec = jsonb_set(spec, '{signals,rare,pattern}', '"trigram"') where id = $1`,
      [campaign.campaignId],
    );
    campaign.spec.signals.rare.pattern = 'trigram';
    await detect(campaign, [4]);
    expect(await storedRows(campaign, 4)).toEqual(await expectedRows(campaign, 4));
  });
});
