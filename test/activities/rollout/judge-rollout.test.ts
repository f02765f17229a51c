import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import { isGradedByJudge } from '../../../src/activities/rollout/judge-rollout';
import type { PlannedAttempt } from '../../../src/activities/rollout/planned-attempt';
import { DomainError } from '../../../src/domain/base/errors';
import type { CampaignSpecInput } from '../../../src/spec/campaign-spec';
import type { NewTask, TaskRow } from '../../../src/store/tasks/tasks';
import { judgeAnswer, judgeByReference } from '../../support/models/reference-judge';
import { addPolicy, hash } from '../../store/support/new-campaign';
import { inActivity } from '../base/in-activity';
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

type Setting = Partial<CampaignSpecInput> & { grader?: TaskRow['grader']; calibrated?: boolean };

/** A campaign with a trusted judge, a policy, and one synthesized task planned for training. */
async function withTask({ grader = 'judge', calibrated = true, ...changes }: Setting = {}) {
  const campaign = await judging.start({ judge: { calibrationTasks: 10 }, rollouts: { attempts: 2 }, ...changes });
  const { store } = judging.services;
  const { key, name } = campaign;
  const [parent] = await store.tasks.list(key.campaignId, { split: 'train', verdict: 'admitted' });
  const task: NewTask = {
    ...{ ...parent!, id: 'synthesized/1/rare/0.0', origin: 'synthesized', grader, contentKey: 'its own' },
    ...{ referenceActions: ['select count(*) from nothing in particular', 'submit'] },
  };
  await store.tasks.propose(key, [task]);
  await store.tasks.plan(key, 'train', [task.id]);
  const policyId = await addPolicy(
    { store, pool: judging.pool, campaignId: key.campaignId, name, key },
    { id: hash('b') },
  );
  judging.model.answerBy(judgeByReference());
  if (calibrated) await calibrate(judging.services, key);
  return { ...campaign, policyId, gold: String(parent!.definition['gold']), reference: task.referenceActions };
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

test("the reward is the judge's verdict, and the environment's score stays beside it", async () => {
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

test("the judge is asked once per attempt, under the attempt's name", async () => {
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

test('an attempt that is played otherwise after a crash is judged for what was played then', async () => {
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

test('a task that the environment checks is never judged', async () => {
  const campaign = await withTask({ grader: 'environment', calibrated: false });
  const before = judging.model.log.length;
  judging.policy.answerBy(policyThatWrites(campaign.gold, 'submit'));
  await play(campaign);
  expect((await attemptsOf(campaign)).map(({ reward }) => reward)).toEqual([1, 1]);
  expect(judging.model.log).toHaveLength(before);
});

test('reference actions are scored by the environment, whoever grades the policy', async () => {
  const { key } = await withTask({ calibrated: false });
  await judging.services.store.tasks.plan(key, 'validation', ['synthesized/1/rare/0.0']);
  const input = { ...key, purpose: 'validation', policyId: null, step: 0, from: 0, to: 1 } as const;
  await inActivity(() => collectRollouts(judging.services)(input));
  expect(await judging.services.store.judgements.list(key, 'attempt')).toEqual([]);
});

test.each([
  { said: 'no JSON', rule: () => 'I would rather not say.', fault: /^judge: malformed: / },
  { said: 'a refusal', rule: () => ({ refusal: 'I cannot judge that.' }), fault: /^judge: refused: .*cannot judge/ },
])("$said is no reward but a fault that is not the policy's", async ({ rule, fault }) => {
  const campaign = await withTask();
  judging.model.answerBy(rule);
  judging.policy.answerBy(policyThatWrites(...campaign.reference));
  await play(campaign);
  for (const attempt of await attemptsOf(campaign))
    expect(attempt).toEqual({
      ...{ outcome: 'environment-fault', reward: null, rawScore: 0 },
      fault: expect.stringMatching(fault),
    });
});

test('a judge that is away is no reward either: the attempt waits for another try', async () => {
  const campaign = await withTask();
  judging.model.answerBy(() => ({ status: 429, headers: { 'retry-after': '7' } }));
  judging.policy.answerBy(policyThatWrites(...campaign.reference));
  await expect(play(campaign)).rejects.toMatchObject({
    ...{ type: 'ModelError.unavailable', nonRetryable: false, nextRetryDelay: 7000 },
  });
  expect(await attemptsOf(campaign)).toEqual([]);
  judging.model.answerBy(judgeByReference());
  await play(campaign);
  expect((await attemptsOf(campaign)).map(({ reward }) => reward)).toEqual([1, 1]);
});

test.each([
  { who: 'a policy at a synthesized task for the judge', grader: 'judge', split: 'train', policyId: 'p', judged: true },
  { who: 'a policy at a held-out task', grader: 'judge', split: 'held-out', policyId: 'p', judged: false },
  {
    who: 'a policy at a task for the environment',
    grader: 'environment',
    split: 'train',
    policyId: 'p',
    judged: false,
  },
  { who: 'the reference actions', grader: 'judge', split: 'train', policyId: null, judged: false },
])('$who: judged is $judged', ({ grader, split, policyId, judged }) => {
  expect(isGradedByJudge({ task: { grader, split }, attempt: { policyId } } as PlannedAttempt)).toBe(judged);
});

const untrusted = async (campaign: JudgedCampaign & { policyId: string }): Promise<DomainError> => {
  judging.policy.answerBy(policyThatWrites('submit'));
  const error = await play(campaign).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DomainError);
  expect(await attemptsOf(campaign)).toEqual([]);
  return error as DomainError;
};

test('a judge that was never calibrated grades nothing', async () => {
  const error = await untrusted(await withTask({ calibrated: false }));
  expect(error.code).toBe('UntrustedJudge');
  expect(error.message).toContain('"judge@1 scripted/small-1 at 0" grades attempts and was never calibrated');
});

test('a judge below its bound grades nothing, and the message says by how much and what to change', async () => {
  const campaign = await withTask({ calibrated: false });
  judging.model.answerBy(() => judgeAnswer(false, 'never pleased'));
  await calibrate(judging.services, campaign.key);
  const { message } = await untrusted(campaign);
  expect(message).toMatch(
    /agrees with 0\.5\d? \(0\.\d\d to 0\.\d\d\) of its newest calibration, judge\.minimumAgreement is 0\.7; /,
  );
  for (const way of ['coevolve start', 'llm.models.judge', 'judge.minimumAgreement', 'synthesis.grader: environment'])
    expect(message).toContain(way);
});
