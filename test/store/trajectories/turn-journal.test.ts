import type { RecordedTurn } from '../../../src/domain/rollout/turn';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { attempt, hash, newCampaign, raiseEpoch, task, turn, type NewCampaign } from '../support/new-campaign';

let database: FreshDatabase;
let campaign: NewCampaign;
beforeEach(async () => {
  campaign = await newCampaign(database.pool);
  await campaign.store.tasks.seed(campaign.key, [task('t')]);
});
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const trajectoryId = '1/expert/reference/t/0';
const open = () => ({ ...campaign.key, trajectoryId });
const record = (...turns: RecordedTurn[]) =>
  Promise.all(turns.map((each) => campaign.store.turnJournal.record(open(), each)));
const recorded = async (key = campaign.key) =>
  (await campaign.store.turnJournal.list(key, [trajectoryId, 'another'])).get(trajectoryId) ?? [];
const ordinals = async (key = campaign.key) => (await recorded(key)).map(({ ordinal }) => ordinal);

/** Counts all rows, also those that no replay reads. */
async function rows(): Promise<number> {
  const { rowCount } = await database.pool.query('select from turn_journal where campaign_id = $1', [
    campaign.campaignId,
  ]);
  return rowCount ?? 0;
}

test('turns with any text are read in order as they were recorded', async () => {
  const anyText = 'a \0 NUL, an unpaired surrogate \ud800, "quotes" and \\u0000';
  const turns = [
    turn(1, { action: anyText, shown: [{ role: 'tool', content: anyText }], score: 0.1 }),
    turn(2, { bareAction: anyText, promptTokenIds: null, tokenIds: null, logprobs: null }),
  ];
  await record(...turns);
  await expect(recorded()).resolves.toEqual(turns);
});

test('one of ten workers that record the same turn concurrently writes it', async () => {
  const written = await record(...Array.from({ length: 10 }, (_, n) => turn(1, { action: `action ${n}` })));
  expect(written.filter(Boolean)).toHaveLength(1);
  await expect(recorded()).resolves.toMatchObject([{ action: `action ${written.indexOf(true)}` }]);
});

test('turns after a gap or from the history of another worker are not listed', async () => {
  await record(turn(1), turn(2), turn(3, { beforeSha256: hash('f') }), turn(4));
  await expect(ordinals()).resolves.toEqual([1, 2]);
  await database.pool.query('delete from turn_journal where ordinal = 1 and campaign_id = $1', [campaign.campaignId]);
  await expect(ordinals()).resolves.toEqual([]);
});

test('a stale epoch stores neither turns nor resumes, and the next epoch does not read its turns', async () => {
  await record(turn(1));
  const key = await raiseEpoch(database.pool, campaign.key);
  await expect(record(turn(2))).resolves.toEqual([false]);
  await campaign.store.turnJournal.recordResume(open(), { outcome: 'resumed', turns: 1, detail: null });
  await expect(campaign.store.turnJournal.listResumes(campaign.campaignId, trajectoryId)).resolves.toEqual([]);
  await expect(ordinals(key)).resolves.toEqual([]);
  await expect(rows()).resolves.toBe(0);
  await expect(campaign.store.turnJournal.record({ ...open(), ...key }, turn(1))).resolves.toBe(true);
  await campaign.store.turnJournal.clear(open()); // of the older epoch
  await expect(ordinals(key)).resolves.toEqual([1]);
});

test('storing an attempt deletes its turns and no turns of other attempts', async () => {
  const other = { ...open(), trajectoryId: 'another' };
  await record(turn(1), turn(2));
  await campaign.store.turnJournal.record(other, turn(1));
  const stale = { ...attempt(campaign.key, { taskId: 't' }), epoch: 0 };
  await expect(campaign.store.trajectories.save(stale)).rejects.toMatchObject({ code: 'StaleEpoch' });
  await expect(rows()).resolves.toBe(3);
  await campaign.store.trajectories.save(attempt(campaign.key, { taskId: 't' }));
  await expect(rows()).resolves.toBe(1);
  await expect(ordinals()).resolves.toEqual([]);
});

test('closing an iteration deletes its remaining turns unless a later run owns it', async () => {
  const { iterations, turnJournal } = campaign.store;
  const next = { ...open(), iteration: 2, epoch: await iterations.open(campaign.campaignId, 2) };
  await turnJournal.record({ ...next, trajectoryId: 'of the next' }, turn(1));
  await record(turn(1));
  await expect(iterations.close({ ...campaign.key, epoch: 0 })).rejects.toMatchObject({ code: 'StaleEpoch' });
  await expect(rows()).resolves.toBe(2);
  await iterations.close(campaign.key);
  await expect(rows()).resolves.toBe(1);
});

test('an ended campaign keeps no turns, and a paused campaign keeps them', async () => {
  await record(turn(1));
  await campaign.store.campaigns.setStatus(campaign.campaignId, 'paused');
  await expect(rows()).resolves.toBe(1);
  await campaign.store.campaigns.setStatus(campaign.campaignId, 'stopped');
  await expect(rows()).resolves.toBe(0);
});

test('the results of resuming an attempt are kept in order, also after its turns are deleted', async () => {
  const { turnJournal, trajectories } = campaign.store;
  const mismatch = { outcome: 'mismatch', turns: 2, detail: 'turn 2 has another observation' } as const;
  await turnJournal.recordResume(open(), mismatch);
  await turnJournal.recordResume(open(), { outcome: 'resumed', turns: 1, detail: null });
  await trajectories.save(attempt(campaign.key, { taskId: 't' }));
  await expect(turnJournal.listResumes(campaign.campaignId, trajectoryId)).resolves.toEqual([
    mismatch,
    { outcome: 'resumed', turns: 1, detail: null },
  ]);
});
