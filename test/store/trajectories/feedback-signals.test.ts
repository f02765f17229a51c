import type { FeedbackSignal } from '../../../src/domain/signals/feedback-signal';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { attempt, newCampaign, task, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
let found: FeedbackSignal[];
beforeAll(async () => {
  database = await freshDatabase();
  campaign = await newCampaign(database.pool);
  await campaign.store.tasks.seed(campaign.key, [task('t')]);
  const ids: string[] = [];
  for (let n = 0; n < 12; n++)
    ids.push((await campaign.store.trajectories.save(attempt(campaign.key, { taskId: 't', attempt: n }))).id);
  found = ids.flatMap((trajectoryId, n): FeedbackSignal[] => [
    { kind: 'rare', taskId: 't', trajectoryId, strength: 1, detail: { count: n } },
    ...(n < 2 ? [{ kind: 'boundary', taskId: 't', trajectoryId, strength: 1, detail: {} } as const] : []),
  ]);
});
afterAll(() => database.drop());

test('signals are numbered per kind, and an attempt can have several', async () => {
  const { feedbackSignals } = campaign.store;
  await feedbackSignals.save(campaign.key, found);
  const stored = await feedbackSignals.list(campaign.campaignId, 1);
  expect(stored.map(({ id }) => id)).toEqual([
    '1/boundary/0',
    '1/boundary/1',
    ...Array.from({ length: 12 }, (_, n) => `1/rare/${n}`),
  ]);
  expect(stored.find(({ id }) => id === '1/rare/11')).toMatchObject({ detail: { count: 11 } });
});

test('signals that many workers detect are stored once', async () => {
  const { feedbackSignals } = campaign.store;
  await Promise.all(Array.from({ length: 10 }, () => feedbackSignals.save(campaign.key, found)));
  await expect(feedbackSignals.countByKind(campaign.campaignId, 1)).resolves.toEqual({ boundary: 2, rare: 12 });
});

test.each([
  { problem: 'an unknown attempt', changes: { trajectoryId: 'nowhere' } },
  { problem: 'an unknown kind', changes: { kind: 'boredom' as 'rare' } },
])('the database rejects a signal of $problem', async ({ changes }) => {
  const other = await newCampaign(database.pool);
  await expect(other.store.feedbackSignals.save(other.key, [{ ...found[0]!, ...changes }])).rejects.toThrow(/violates/);
});
