import { createHash } from 'node:crypto';
import { openIteration } from '../../../src/activities/campaign/open-iteration';
import { closeCalibration } from '../../../src/activities/validate/close-calibration';
import { judgeCalibration } from '../../../src/activities/validate/judge-calibration';
import { planCalibration } from '../../../src/activities/validate/plan-calibration';
import { playCalibration } from '../../../src/activities/validate/play-calibration';
import {
  isCompleted,
  judgeAnswer,
  judgeByAnswers,
  judgeQuestion,
  seedAnswers,
  type JudgeErrors,
} from '../../support/models/reference-judge';
import { inActivity } from '../context/in-activity';
import {
  calibrate,
  nextIteration,
  proposeCandidate,
  startJudging,
  type JudgedCampaigns,
} from '../rollout/judged-campaign';

let judging: JudgedCampaigns;
beforeAll(async () => {
  judging = await startJudging();
});
afterAll(() => judging.stop());

const judge = { calibrationTasks: 30 };
const answers = seedAnswers(() => judging.pool);
const honest = (errors?: JudgeErrors) => judgeByAnswers(answers, errors);
const newest = async (campaignId: number) => (await judging.services.store.judgeCalibrations.list(campaignId)).at(-1)!;

test('half of the items are reference actions with reward 1, the others are corrupted and score less', async () => {
  const { key } = await judging.start({ judge });
  await proposeCandidate(judging.services, key);
  const planned = await inActivity(() => planCalibration(judging.services)(key));
  expect(planned).toEqual({ items: 60 });
  await inActivity(() => playCalibration(judging.services)(key));

  const items = await judging.services.store.judgeCalibrations.listItems(key);
  const references = items.filter(({ corruption }) => corruption === null);
  const corrupted = items.filter(({ corruption }) => corruption !== null);
  expect([references.length, corrupted.length]).toEqual([30, 30]);
  expect(new Set(references.map(({ reward }) => reward))).toEqual(new Set([1]));
  expect(corrupted.every(({ reward }) => reward! < 1)).toBe(true);
  expect(new Set(corrupted.map(({ corruption }) => corruption)).size).toBeGreaterThan(2);
  expect(new Set(corrupted.map(({ taskId }) => taskId))).toEqual(new Set(references.map(({ taskId }) => taskId)));
  for (const { transcript, actions } of items)
    expect(transcript!.turns.map(({ action }) => action)).toEqual(actions.slice(0, transcript!.turns.length));
});

test('an iteration without candidates calls no judge, and leaves the calibration to the next one', async () => {
  const { key } = await judging.start({ judge: { ...judge, calibrateEvery: 5 }, iterations: 2 });
  const { services } = judging;
  expect(await inActivity(() => planCalibration(services)(key))).toEqual({ items: 0 });
  expect(await inActivity(() => playCalibration(services)(key))).toEqual({ played: 0 });
  await inActivity(() => closeCalibration(services)(key));
  expect(await services.store.judgeCalibrations.list(key.campaignId)).toEqual([]);
  await services.store.iterations.close(key);
  const next = { campaignId: key.campaignId, iteration: 2, recipe: 'coevolve' };
  await expect(inActivity(() => openIteration(services)(next))).resolves.toMatchObject({ calibrates: true });
});

test('bfcl is calibrated like intercode-sql', async () => {
  const { key } = await judging.start({
    judge,
    environment: { name: 'bfcl', trainTasks: 60, heldOutTasks: 5, maxTurns: 60 },
  });
  judging.model.answerBy(honest());
  await calibrate(judging.services, key);
  const { counts, agreement, dropped } = await newest(key.campaignId);
  expect(dropped).toBeLessThan(10);
  expect(counts).toEqual({
    truePositives: 30 - dropped / 2,
    falseNegatives: 0,
    falsePositives: 0,
    trueNegatives: 30 - dropped / 2,
    unusable: 0,
  });
  expect(agreement.rate).toBe(1);
});

test('a repeated calibration changes nothing and calls no judge', async () => {
  const { key } = await judging.start({ judge });
  judging.model.answerBy(honest());
  await calibrate(judging.services, key);
  const items = await judging.services.store.judgeCalibrations.listItems(key);
  const [callCount, stored] = [judging.model.log.length, await newest(key.campaignId)];

  judging.model.answerBy(() => judgeAnswer(false, 'another judge'));
  await calibrate(judging.services, key);
  expect(judging.model.log).toHaveLength(callCount);
  expect(await judging.services.store.judgeCalibrations.listItems(key)).toEqual(items);
  expect(await judging.services.store.judgeCalibrations.list(key.campaignId)).toEqual([stored]);
});

test("the judge's prompt does not contain the environment's verdict or the kind of corruption", async () => {
  const { key, spec } = await judging.start({ judge: { calibrationTasks: 5 } });
  const from = judging.model.log.length;
  judging.model.answerBy(honest());
  await calibrate(judging.services, key);
  const calls = judging.model.log.slice(from);
  expect(calls).toHaveLength(10);
  for (const { messages, body, id } of calls) {
    const text = messages.map(({ content }) => content).join('\n');
    expect(text).not.toMatch(/corrupt|broken|reward|dropped-call|changed-|other-task|gold/i);
    expect(judgeQuestion({ messages })).toMatchObject({ solvedOnce: [], end: null });
    expect(body).toMatchObject({ temperature: 0 });
    expect(id).toContain(`${spec.name}/judge/calibration/1/calibration/`);
  }
});

test.each([
  { ofCompleted: 0.1, ofNotCompleted: 0.3 },
  { ofCompleted: 0.4, ofNotCompleted: 0.1 },
])(
  'a judge with error rates $ofCompleted on reference and $ofNotCompleted on corrupted actions is measured within the intervals',
  async (errors) => {
    const { key } = await judging.start({ judge });
    const from = judging.model.log.length;
    judging.model.answerBy(honest(errors));
    await calibrate(judging.services, key);

    const counted = { references: { completed: 0, n: 0 }, corrupted: { completed: 0, n: 0 } };
    const items = await judging.services.store.judgeCalibrations.listItems(key);
    const verdicts = await judging.services.store.judgements.list(key, 'calibration');
    for (const { id, completed } of verdicts) {
      const { corruption } = items[Number(id.split('/').at(-1))]!;
      const side = counted[corruption === null ? 'references' : 'corrupted'];
      side.n += 1;
      side.completed += Number(completed);
    }
    expect(judging.model.log.length - from).toBe(counted.references.n + counted.corrupted.n);

    const { counts, agreement, recall, precision } = await newest(key.campaignId);
    expect(counts).toEqual({
      truePositives: counted.references.completed,
      falseNegatives: counted.references.n - counted.references.completed,
      falsePositives: counted.corrupted.completed,
      trueNegatives: counted.corrupted.n - counted.corrupted.completed,
      unusable: 0,
    });
    const hits = 1 - errors.ofCompleted;
    const truth = {
      agreement: (hits + 1 - errors.ofNotCompleted) / 2,
      recall: hits,
      precision: hits / (hits + errors.ofNotCompleted),
    };
    for (const [rate, value] of [
      [agreement, truth.agreement],
      [recall, truth.recall],
      [precision, truth.precision],
    ] as const) {
      expect(rate.low).toBeLessThanOrEqual(value);
      expect(rate.high).toBeGreaterThanOrEqual(value);
    }
  },
);

test('answers that are malformed after a repair are unusable and give no verdict', async () => {
  const { key } = await judging.start({ judge: { calibrationTasks: 4 } });
  judging.model.answerBy(async (request) => {
    const question = judgeQuestion(request);
    const isGold = question && isCompleted(question, await answers(question));
    return isGold ? 'I think it went well.' : honest()(request);
  });
  await calibrate(judging.services, key);
  const { counts, agreement, recall } = await newest(key.campaignId);
  expect(counts).toMatchObject({ truePositives: 0, falseNegatives: 0, unusable: 4 });
  expect([agreement.rate, recall.rate]).toEqual([1, null]);
  const unusable = (await judging.services.store.judgements.list(key, 'calibration')).filter(({ failure }) => failure);
  expect(unusable).toHaveLength(4);
  for (const { completed, failure, callId, criteria } of unusable)
    expect({ completed, failure, callId, criteria }).toEqual({
      completed: null,
      failure: 'malformed',
      criteria: null,
      callId: expect.stringMatching(/\/repair$/),
    });
});

test('the verdict "completed" with a failed criterion is rejected as malformed', async () => {
  const { key } = await judging.start({ judge: { calibrationTasks: 1 } });
  judging.model.answerBy(() => judgeAnswer(false, 'wrong value').replace('"completed":false', '"completed":true'));
  await calibrate(judging.services, key);
  const [first] = await judging.services.store.judgements.list(key, 'calibration');
  expect(first).toMatchObject({ completed: null, failure: 'malformed' });
  expect(first!.reason).toContain('must be false when');
});

test('a changed judge raises one drift event with the reason', async () => {
  const { key } = await judging.start({ judge });
  judging.model.answerBy(honest());
  await calibrate(judging.services, key);
  const second = await nextIteration(judging.services, key);
  await calibrate(judging.services, second);
  expect((await newest(key.campaignId)).drift).toBeNull();

  judging.model.answerBy(() => judgeAnswer(true, 'always accepted'));
  const third = await nextIteration(judging.services, second);
  await calibrate(judging.services, third);
  await calibrate(judging.services, third);
  const { drift, iteration } = await newest(key.campaignId);
  const { rows: events } = await judging.pool.query(
    'select iteration, kind, actor, detail from events where campaign_id = $1',
    [key.campaignId],
  );
  expect(events).toEqual([
    { iteration: 3, kind: 'judge-drift', actor: 'coevolve', detail: { reason: drift } },
    {
      iteration: 3,
      kind: 'judge-untrusted',
      actor: 'coevolve',
      detail: { reason: expect.stringMatching(/^the judge approves everything: it agrees with 0\.50 /) },
    },
  ]);
  expect({ iteration, drift }).toEqual({
    iteration: 3,
    drift: expect.stringMatching(/^corrupted judged not completed: 0 of \d+, at first (\d+) of \1 /),
  });
});

test.each([
  ['always yes', () => true, 'approves everything'],
  ['always no', () => false, 'refuses everything'],
  [
    'random',
    (text: string) => createHash('sha256').update(text).digest()[0]! % 2 === 0,
    'is right no more often than chance allows',
  ],
])('a judge that answers %s is an event with a word for it', async (_, verdict, word) => {
  const { key } = await judging.start({ judge });
  judging.model.answerBy(({ messages }) => judgeAnswer(verdict(JSON.stringify(messages)), 'seen'));
  await calibrate(judging.services, key);
  const { rows } = await judging.pool.query<{ detail: { reason: string } }>(
    `select detail from events where campaign_id = $1 and kind = 'judge-untrusted'`,
    [key.campaignId],
  );
  expect(rows.map(({ detail }) => detail.reason)).toEqual([
    expect.stringMatching(`^the judge ${word}: it agrees with 0\\.[3-6]\\d .*, judge.minimumAgreement is 0.7$`),
  ]);
});

test('a calibration with an item without judgement cannot be closed', async () => {
  const { key } = await judging.start({ judge: { calibrationTasks: 2 } });
  judging.model.answerBy(honest());
  await proposeCandidate(judging.services, key);
  await inActivity(() => planCalibration(judging.services)(key));
  await inActivity(() => playCalibration(judging.services)(key));
  await inActivity(() => judgeCalibration(judging.services)({ ...key, from: 0, to: 1 }));
  await expect(inActivity(() => closeCalibration(judging.services)(key))).rejects.toMatchObject({
    details: ['StateMismatch'],
  });
});
