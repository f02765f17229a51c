import { countVerdicts, measureTrust } from '../../../src/domain/evaluation/judge-calibration';
import type { NewJudgement } from '../../../src/store/tasks/judgements';
import { listJudgeCalibrations } from '../../../src/report/campaign/judge';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { newCampaign, raiseEpoch, task } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const criteria = { parameters: { ok: true, note: 'as asked' } };
const judgement = (changes: Partial<NewJudgement> = {}): NewJudgement => ({
  id: '1/candidate/t',
  kind: 'candidate',
  taskId: 't',
  judgeVersion: 'judge@1 p/m at 0',
  completed: true,
  reason: 'right',
  criteria,
  failure: null,
  callId: 'judge/candidate/1/candidate/t',
  ...changes,
});
const unusable = { completed: null, criteria: null, failure: 'refused', reason: 'I cannot' } as const;

async function campaignWithTask() {
  const campaign = await newCampaign(database.pool);
  await campaign.store.tasks.seed(campaign.key, [task('t'), task('u')]);
  return campaign;
}

test('the first judgement of a subject is kept, and every writer gets it', async () => {
  const { store, key } = await campaignWithTask();
  const [first, second] = [judgement(), judgement({ completed: false, reason: 'wrong' })];
  expect(await store.judgements.save(key, first)).toEqual({ ...first, iteration: 1 });
  expect(await store.judgements.save(key, second)).toEqual({ ...first, iteration: 1 });
  expect(await store.judgements.list(key, 'candidate')).toEqual([{ ...first, iteration: 1 }]);
  expect(await store.judgements.list(key, 'attempt')).toEqual([]);
});

test('one of twenty concurrent writers stores the judgement', async () => {
  const { store, key } = await campaignWithTask();
  const writers = Array.from({ length: 20 }, (_, n) =>
    store.judgements.save(key, judgement({ reason: `writer ${n}` })),
  );
  expect(new Set((await Promise.all(writers)).map(({ reason }) => reason)).size).toBe(1);
});

test('an unusable answer is stored with its failure, and a verdict with a failure is rejected', async () => {
  const { store, key } = await campaignWithTask();
  await expect(store.judgements.save(key, judgement(unusable))).resolves.toMatchObject(unusable);
  const verdictWithFailure = judgement({ id: 'other', failure: 'malformed' });
  await expect(store.judgements.save(key, verdictWithFailure)).rejects.toMatchObject({ code: '23514' });
});

test('any text of a judge is stored', async () => {
  const { store, key } = await campaignWithTask();
  const invalidText = judgement({ reason: 'a\0b\ud800', criteria: { parameters: { ok: false, note: '\0' } } });
  await expect(store.judgements.save(key, invalidText)).resolves.toMatchObject({ reason: 'a\uFFFDb\uFFFD' });
});

test('nothing is written in a stale epoch', async () => {
  const { store, pool, key } = await campaignWithTask();
  const items = [{ taskId: 't', corruption: null, actions: ['select 1'] }];
  await store.judgeCalibrations.plan(key, items);
  const newer = await raiseEpoch(pool, key);
  const stale = { code: 'StaleEpoch' };
  await expect(store.judgements.save(key, judgement())).rejects.toMatchObject(stale);
  await expect(store.judgeCalibrations.plan(key, items)).rejects.toMatchObject(stale);
  await expect(store.judgeCalibrations.saveRollout(key, played(0))).rejects.toMatchObject(stale);
  await expect(store.judgeCalibrations.save(key, calibration(1))).rejects.toMatchObject(stale);
  expect(await store.judgements.list(newer, 'candidate')).toEqual([]);
  expect((await store.judgeCalibrations.listItems(newer)).map(({ transcript }) => transcript)).toEqual([null]);
  expect(await store.judgeCalibrations.list(key.campaignId)).toEqual([]);
});

const transcript = { opening: [], turns: [], stopReason: 'completed' };
const played = (ordinal: number, actions = ['select 1']) => ({
  ordinal,
  corruption: null,
  actions,
  transcript,
  reward: 1,
});

function calibration(completed: number, drift: string | null = null) {
  const judged = Array.from({ length: 4 }, (_, n) => ({ corrupted: n >= 2, completed: n < completed }));
  const counts = countVerdicts([...judged, { corrupted: false, completed: null }]);
  return { judgeVersion: 'judge@1 p/m at 0', counts, ...measureTrust(counts), dropped: 3, drift };
}

test('the items of a calibration are planned once and played once', async () => {
  const { store, key } = await campaignWithTask();
  const items = [
    { taskId: 't', corruption: null, actions: ['select 1'] },
    { taskId: 'u', corruption: 'swapped', actions: ['b', 'a'] },
  ] as const;
  const plan = (from: number) =>
    store.judgeCalibrations.plan(
      key,
      items.slice(from).map((item) => ({ ...item, actions: [...item.actions] })),
    );
  expect(await Promise.all([plan(0), plan(0), plan(0)])).toEqual([2, 2, 2]);
  expect(await plan(1)).toBe(2);

  const broken = { ...played(1, ['c']), corruption: 'truncated', reward: 0.5 } as const;
  await store.judgeCalibrations.saveRollout(key, broken);
  await store.judgeCalibrations.saveRollout(key, { ...broken, reward: 1 });
  expect(await store.judgeCalibrations.listItems(key)).toEqual([
    { ordinal: 0, ...items[0], transcript: null, reward: null },
    { ...broken, taskId: 'u' },
  ]);
  expect(await store.judgeCalibrations.listItems(key, 1, 2)).toHaveLength(1);
});

test('the result of a calibration is stored once with its intervals and one event for a drift', async () => {
  const { store, pool, key } = await campaignWithTask();
  const made = calibration(3, 'the judge became lenient');
  const distrust = 'the judge approves everything';
  expect(await store.judgeCalibrations.save(key, made, distrust)).toEqual({ ...made, iteration: 1 });
  expect(await store.judgeCalibrations.save(key, calibration(1, 'another'))).toEqual({ ...made, iteration: 1 });
  const { rows } = await pool.query('select kind, iteration, detail from events where campaign_id = $1', [
    key.campaignId,
  ]);
  expect(rows).toEqual([
    { kind: 'judge-drift', iteration: 1, detail: { reason: 'the judge became lenient' } },
    { kind: 'judge-untrusted', iteration: 1, detail: { reason: distrust } },
  ]);

  const client = await pool.connect();
  const [reported] = await listJudgeCalibrations(client, key.campaignId);
  client.release();
  expect(reported).toEqual({
    iteration: 1,
    judgeVersion: made.judgeVersion,
    ...made.counts,
    dropped: 3,
    drift: 'the judge became lenient',
    distrust,
    agreement: 0.75,
    agreementLow: made.agreement.low,
    agreementHigh: made.agreement.high,
    precision: 2 / 3,
    precisionLow: made.precision.low,
    precisionHigh: made.precision.high,
    recall: 1,
    recallLow: made.recall.low,
    recallHigh: made.recall.high,
  });
});

test('the newest calibration is that of the given judge version', async () => {
  const { store, key } = await campaignWithTask();
  const find = (version: string) => store.judgeCalibrations.findNewest(key.campaignId, version);
  expect(await find('judge@1 p/m at 0')).toBeNull();
  for (const iteration of [1, 2, 3]) {
    const epoch = await store.iterations.open(key.campaignId, iteration);
    const judgeVersion = iteration === 3 ? 'judge@2 p/m at 0' : 'judge@1 p/m at 0';
    await store.judgeCalibrations.save({ ...key, iteration, epoch }, { ...calibration(2), judgeVersion });
  }
  expect(await find('judge@1 p/m at 0')).toMatchObject({ iteration: 2 });
  expect(await find('judge@2 p/m at 0')).toMatchObject({ iteration: 3 });
});
