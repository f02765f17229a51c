import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import { isGradedByJudge } from '../../../src/activities/rollout/judge-rollout';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import type { PlannedAttempt } from '../../../src/activities/rollout/planned-attempt';
import { ApplicationFailure } from '@temporalio/common';
import type { CampaignSpecInput } from '../../../src/specification/campaign-spec';
import type { NewTask, TaskRow } from '../../../src/store/tasks/tasks';
import { judgeAnswer, judgeByAnswers, judgeQuestion, seedAnswers } from '../../support/models/reference-judge';
import { addPolicy, hash } from '../../store/support/new-campaign';
import { inActivity } from '../context/in-activity';
import {
  calibrate,
  policyThatWrites,
  startJudging,
  type JudgedCampaign,
  type JudgedCampaigns,
} from './judged-campaign';

let judging: JudgedCampaigns;
beforeAll(async () => {
  judging = await startJudging();
});
afterAll(() => judging.stop());

type Setting = Partial<CampaignSpecInput> & {
  grader?: TaskRow['grader'];
  calibrated?: boolean;
  reference?: string[];
};

const unplayable = ['select count(*) from missing_table', 'submit'];

/** Creates a campaign with a trusted judge, a policy, and one synthesized task planned for training. */
async function withTask({ grader = 'judge', calibrated = true, reference = unplayable, ...changes }: Setting = {}) {
  const campaign = await judging.start({ judge: { calibrationTasks: 10 }, rollouts: { attempts: 2 }, ...changes });
  const { store } = judging.services;
  const { key, name } = campaign;
  const [parent] = await store.tasks.list(key.campaignId, { split: 'train', verdict: 'admitted' });
  const task: NewTask = {
    ...parent!,
    id: 'synthesized/1/rare/0.0',
    origin: 'synthesized',
    grader,
    contentKey: 'unique',
    referenceActions: reference,
  };
  await store.tasks.propose(key, [task]);
  await store.tasks.plan(key, 'train', [task.id]);
  const policyId = await addPolicy(
    { store, pool: judging.pool, campaignId: key.campaignId, name, key },
    { id: hash('b') },
  );
  judging.model.answerBy(judgeByAnswers(seedAnswers(() => judging.pool)));
  if (calibrated) await calibrate(judging.services, key);
  return { ...campaign, policyId, gold: String(parent!.definition['gold']), reference };
}

const play = ({ key, policyId }: JudgedCampaign & { policyId: string }) =>
  inActivity(() => collectRollouts(judging.services)({ ...key, purpose: 'train', policyId, step: 0, from: 0, to: 1 }));

async function attemptsOf({ key }: JudgedCampaign) {
  const { rows } = await judging.pool.query<{
    outcome: string;
    reward: number | null;
    rawScore: number;
    fault: string | null;
  }>(
    `select outcome, reward, raw_score as "rawScore", fault from trajectories
     where campaign_id = $1 and purpose = 'train' order by attempt`,
    [key.campaignId],
  );
  return rows;
}

test("the reward is the judge's verdict, and the environment's score is stored too", async () => {
  const right = await withTask();
  judging.policy.answerBy(policyThatWrites(...right.reference));
  await play(right);
  expect(await attemptsOf(right)).toEqual([
    { outcome: 'scored', reward: 1, rawScore: 0, fault: null },
    { outcome: 'scored', reward: 1, rawScore: 0, fault: null },
  ]);

  const wrong = await withTask();
  judging.policy.answerBy(policyThatWrites(wrong.gold, 'submit'));
  await play(wrong);
  expect((await attemptsOf(wrong)).map(({ reward, rawScore }) => [reward, rawScore])).toEqual([
    [0, 1],
    [0, 1],
  ]);
});

test('the judge is called once per attempt, with the id of the attempt', async () => {
  const campaign = await withTask();
  judging.policy.answerBy(policyThatWrites(...campaign.reference));
  await play(campaign);
  await play(campaign);
  const stored = await judging.services.store.judgements.list(campaign.key, 'attempt');
  expect(stored.map(({ callId }) => callId)).toEqual([
    expect.stringMatching(/^judge\/attempt\/1\/train\/bbbbbbbbbbbb\/synthesized\/1\/rare\/0\.0\/0\/[0-9a-f]{8}$/),
    expect.stringMatching(/^judge\/attempt\/1\/train\/bbbbbbbbbbbb\/synthesized\/1\/rare\/0\.0\/1\/[0-9a-f]{8}$/),
  ]);
});

test.each([
  { reference: unplayable, prompt: 'judge-attempt@1' },
  { reference: [], prompt: 'judge@3' },
])('the judge of an attempt sees the actions that solved the task once: $reference', async ({ reference, prompt }) => {
  const campaign = await withTask({ rollouts: { attempts: 1 }, reference });
  const before = judging.model.log.length;
  judging.policy.answerBy(policyThatWrites(campaign.gold, 'submit'));
  await play(campaign);
  const asked = judging.model.log.slice(before).map((request) => judgeQuestion(request)!);
  expect(asked.map(({ solvedOnce }) => solvedOnce)).toEqual([reference]);
  const [judgement] = await judging.services.store.judgements.list(campaign.key, 'attempt');
  expect(judgement!.judgeVersion).toBe(`${prompt} scripted/small-1 at 0`);
  expect(judgement!.completed).toBe(reference.length === 0); // then the judge decides by the answer that it knows
});

test('an attempt with other actions after a crash gets a new judgement', async () => {
  const campaign = await withTask({ rollouts: { attempts: 1 } });
  judging.policy.answerBy(policyThatWrites(...campaign.reference));
  await play(campaign);
  await judging.pool.query(
    `with steps as (delete from trajectory_turns where campaign_id = $1 and trajectory_id like '1/train/%')
     delete from trajectories where campaign_id = $1 and purpose = 'train'`,
    [campaign.key.campaignId],
  );
  judging.policy.answerBy(policyThatWrites(campaign.gold, 'submit'));
  await play(campaign);
  expect((await attemptsOf(campaign)).map(({ reward }) => reward)).toEqual([0]);
});

test('an attempt at a task with an environment checker is never judged', async () => {
  const campaign = await withTask({ grader: 'environment', calibrated: false });
  const before = judging.model.log.length;
  judging.policy.answerBy(policyThatWrites(campaign.gold, 'submit'));
  await play(campaign);
  expect((await attemptsOf(campaign)).map(({ reward }) => reward)).toEqual([1, 1]);
  expect(judging.model.log).toHaveLength(before);
});

test('an attempt whose action ended its world scores 0 and is never judged', async () => {
  const { key, policyId } = await withTask({ calibrated: false });
  const openEnvironment: Dependencies['openEnvironment'] = async (...args) => {
    const session = await judging.services.openEnvironment(...args);
    const ended = { messages: [], done: true, reward: 0, score: null, rawScore: 0, stopReason: 'world-ended' };
    return { ...session, step: () => Promise.resolve(ended) };
  };
  const services = { ...judging.services, openEnvironment };
  const input = { ...key, purpose: 'train', policyId, step: 0, from: 0, to: 1 } as const;
  const before = judging.model.log.length;
  await inActivity(() => collectRollouts(services)(input));
  expect((await attemptsOf({ key } as JudgedCampaign)).map(({ reward }) => reward)).toEqual([0, 0]);
  expect(judging.model.log).toHaveLength(before);
});

test('the environment scores reference actions, even if the judge grades the policy', async () => {
  const { key } = await withTask({ calibrated: false });
  await judging.services.store.tasks.plan(key, 'validation', ['synthesized/1/rare/0.0']);
  const input = { ...key, purpose: 'validation', policyId: null, step: 0, from: 0, to: 1 } as const;
  await inActivity(() => collectRollouts(judging.services)(input));
  expect(await judging.services.store.judgements.list(key, 'attempt')).toEqual([]);
});

test.each([
  { answer: 'text without JSON', rule: () => 'no verdict', fault: /^judge: malformed: / },
  { answer: 'a refusal', rule: () => ({ refusal: 'I cannot judge that.' }), fault: /^judge: refused: .*cannot judge/ },
])('$answer of the judge is an environment fault without a reward', async ({ rule, fault }) => {
  const campaign = await withTask();
  judging.model.answerBy(rule);
  judging.policy.answerBy(policyThatWrites(...campaign.reference));
  await play(campaign);
  for (const attempt of await attemptsOf(campaign))
    expect(attempt).toEqual({
      outcome: 'environment-fault',
      reward: null,
      rawScore: 0,
      fault: expect.stringMatching(fault),
    });
});

test('an unavailable judge fails the activity, and a retry judges the attempt', async () => {
  const campaign = await withTask();
  judging.model.answerBy(() => ({ status: 429, headers: { 'retry-after': '7' } }));
  judging.policy.answerBy(policyThatWrites(...campaign.reference));
  await expect(play(campaign)).rejects.toMatchObject({
    type: 'ModelError.unavailable',
    nonRetryable: false,
    nextRetryDelay: 7000,
  });
  expect(await attemptsOf(campaign)).toEqual([]);
  judging.model.answerBy(judgeByAnswers(seedAnswers(() => judging.pool)));
  await play(campaign);
  expect((await attemptsOf(campaign)).map(({ reward }) => reward)).toEqual([1, 1]);
});

test.each([
  { played: 'a synthesized task with the grader judge', grader: 'judge', split: 'train', policyId: 'p', judged: true },
  { played: 'a held-out task', grader: 'judge', split: 'held-out', policyId: 'p', judged: false },
  {
    played: 'a task with the grader environment',
    grader: 'environment',
    split: 'train',
    policyId: 'p',
    judged: false,
  },
  { played: 'reference actions', grader: 'judge', split: 'train', policyId: null, judged: false },
])('isGradedByJudge is $judged for an attempt at $played', ({ grader, split, policyId, judged }) => {
  expect(isGradedByJudge({ task: { grader, split }, attempt: { policyId } } as PlannedAttempt)).toBe(judged);
});

const playUntrusted = async (campaign: JudgedCampaign & { policyId: string }): Promise<ApplicationFailure> => {
  judging.policy.answerBy(policyThatWrites('submit'));
  const error = await play(campaign).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ApplicationFailure);
  expect(await attemptsOf(campaign)).toEqual([]);
  return error as ApplicationFailure;
};

test('a judge that is never calibrated grades no attempt', async () => {
  const error = await playUntrusted(await withTask({ calibrated: false, judge: { calibrationTasks: 0 } }));
  expect(error.details).toEqual(['UntrustedJudge']);
  expect(error.message).toContain('"judge@3 scripted/small-1 at 0" grades attempts and was never calibrated');
});

test('a judge without a calibration of its version, as after an upgrade, is calibrated before it grades', async () => {
  const campaign = await withTask();
  const { store } = judging.services;
  const { campaignId } = campaign.key;
  await judging.pool.query(
    `update judge_calibrations set judge_version = 'judge@2 an older prompt' where campaign_id = $1`,
    [campaignId],
  );
  await judging.pool.query(`update judgements set id = replace(id, 'judge@3', 'judge@2') where campaign_id = $1`, [
    campaignId,
  ]);
  judging.policy.answerBy(policyThatWrites(...campaign.reference));
  await play(campaign);
  expect((await attemptsOf(campaign)).map(({ reward }) => reward)).toEqual([1, 1]);
  const versions = (await store.judgeCalibrations.list(campaignId)).map(({ judgeVersion }) => judgeVersion);
  expect(versions).toEqual(['judge@2 an older prompt', 'judge@3 scripted/small-1 at 0']);
});

test('a judge below the minimum agreement grades no attempt, and the error contains the agreement and the remedies', async () => {
  const campaign = await withTask({ calibrated: false });
  judging.model.answerBy(() => judgeAnswer(false, 'always rejected'));
  await calibrate(judging.services, campaign.key);
  const { message } = await playUntrusted(campaign);
  expect(message).toMatch(
    /the judge refuses everything: it agrees with 0\.5\d? \(0\.\d\d to 0\.\d\d\) of its newest calibration, judge\.minimumAgreement is 0\.7; /,
  );
  for (const remedy of [
    'coevolve start',
    'llm.models.judge',
    'judge.minimumAgreement',
    'synthesis.grader: environment',
  ])
    expect(message).toContain(remedy);
});
