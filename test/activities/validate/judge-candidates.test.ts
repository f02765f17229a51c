import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import { judgeCandidates } from '../../../src/activities/validate/judge-candidates';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import { toTask } from '../../../src/activities/plan/seed-tasks';
import { judgeVersion } from '../../../src/llm/prompts/judge';
import type { NewTask } from '../../../src/store/tasks/tasks';
import { listJudgeAgreement } from '../../../src/report/campaign/judge';
import { judgeAnswer, judgeByAnswers, judgeQuestion, seedAnswers } from '../../support/models/reference-judge';
import { attempt } from '../../store/support/new-campaign';
import { inActivity } from '../context/in-activity';
import { startJudging, type JudgedCampaign, type JudgedCampaigns } from '../rollout/judged-campaign';

let judging: JudgedCampaigns;
beforeAll(async () => {
  judging = await startJudging();
});
afterAll(() => judging.stop());

/** The candidates below are seed tasks whose goals have a prefix. */
const honest = judgeByAnswers((question) =>
  seedAnswers(() => judging.pool)({ ...question, goal: question.goal.replace(/^Candidate \d+: /, '') }),
);

/** Creates a campaign with candidates that were composed and executed, but not judged. */
async function executedCandidates(
  count: number,
  change: (task: NewTask, n: number) => NewTask = (task) => task,
  faulty: string | null = null,
  changes: Parameters<JudgedCampaigns['start']>[0] = {},
) {
  const campaign = await judging.start(changes);
  const { store, environmentData } = judging.services;
  const seeds = await store.tasks.list(campaign.key.campaignId, { split: 'train', verdict: 'admitted' });
  const candidates: NewTask[] = [];
  for (const [n, parent] of seeds.slice(0, count).entries()) {
    const actions = [String(parent.definition['gold'])];
    const query = `Candidate ${n}: ${parent.goal}`;
    const made = await environmentData.compose('intercode-sql', {
      parent: parent.definition,
      query,
      actions,
      options: {},
    });
    if (!('task' in made)) throw new Error(made.refused.detail);
    const id = `synthesized/1/rare/${n}.0`;
    const grader = made.task.grader;
    const task = { ...toTask(made.task, 'intercode-sql'), id, grader, split: 'train', origin: 'synthesized' } as const;
    candidates.push(change(task, n));
  }
  await store.tasks.propose(campaign.key, candidates);
  await inActivity(() => planValidation(judging.services)(campaign.key));
  if (faulty) {
    const fault = { outcome: 'environment-fault', reward: null, rawScore: null, fault: 'session failed' } as const;
    await store.trajectories.save(
      attempt(campaign.key, { purpose: 'validation', taskId: faulty, ...fault, turns: [] }),
    );
  }
  const plan = { purpose: 'validation', policyId: null, step: 0, from: 0, to: count } as const;
  await inActivity(() => collectRollouts(judging.services)({ ...campaign.key, ...plan }));
  return campaign;
}

const judge = ({ key }: JudgedCampaign, from: number, to: number) =>
  inActivity(() => judgeCandidates(judging.services)({ ...key, from, to }));

test('every executed candidate of a range is judged once, with its query and actions', async () => {
  const campaign = await executedCandidates(12);
  const before = judging.model.log.length;
  judging.model.answerBy(honest);
  expect(await judge(campaign, 0, 10)).toEqual({ judged: 10 });
  expect(await judge(campaign, 0, 12)).toEqual({ judged: 12 });
  const calls = judging.model.log.slice(before);
  expect(calls).toHaveLength(12);
  const questions = calls.map((request) => judgeQuestion(request)!);
  expect(new Set(questions.map(({ goal }) => goal)).size).toBe(12);
  for (const { solvedOnce, played } of questions) {
    expect(solvedOnce).toEqual([]);
    expect(played.at(-1)).toBe('submit');
  }

  const stored = await judging.services.store.judgements.list(campaign.key, 'candidate');
  expect(stored.map(({ id }) => id)).toContain('1/candidate/synthesized/1/rare/7.0');
  for (const { completed, failure, judgeVersion: version, callId, id, criteria } of stored) {
    expect({ completed, failure, version }).toEqual({
      completed: true,
      failure: null,
      version: judgeVersion(campaign.spec),
    });
    expect(callId).toBe(`judge/candidate/${id}`);
    expect(Object.keys(criteria!).sort()).toEqual(
      ['apiMatching', 'finalResult', 'logicalFlow', 'parameters', 'skippedSteps'].sort(),
    );
  }
  expect(judgeVersion(campaign.spec)).toBe('judge@3 scripted/small-1 at 0');
});

test('a candidate that could not be executed is not judged', async () => {
  const campaign = await executedCandidates(3, (task) => task, 'synthesized/1/rare/1.0');
  const before = judging.model.log.length;
  judging.model.answerBy(honest);
  expect(await judge(campaign, 0, 3)).toEqual({ judged: 2 });
  expect(judging.model.log).toHaveLength(before + 2);
  const judged = await judging.services.store.judgements.list(campaign.key, 'candidate');
  expect(judged.map(({ taskId }) => taskId)).not.toContain('synthesized/1/rare/1.0');
});

test('a judge that is not to be calibrated is asked only where its verdict decides', async () => {
  const uncalibrated = { judge: { calibrationTasks: 0 }, synthesis: { rule: 'strict' } } as const;
  const campaign = await executedCandidates(3, (task) => task, null, uncalibrated);
  const before = judging.model.log.length;
  expect(await judge(campaign, 0, 3)).toEqual({ judged: 0 });
  expect(judging.model.log).toHaveLength(before);
});

test('the report counts agreements and disagreements of judge and environment', async () => {
  const campaign = await executedCandidates(9, (task, n) =>
    n < 4 ? { ...task, referenceActions: ["select 'something else'", 'submit'] } : task,
  );
  judging.model.answerBy((request) => {
    const index = Number(/Candidate (\d)/.exec(judgeQuestion(request)!.goal)![1]);
    if (index === 8) return 'no verdict';
    return judgeAnswer([0, 4, 5].includes(index), 'scripted');
  });
  await judge(campaign, 0, 9);
  const client = await judging.pool.connect();
  const counted = await listJudgeAgreement(client, campaign.key.campaignId);
  client.release();
  expect(counted).toEqual([
    { iteration: 1, grader: 'environment', both: 2, judgeOnly: 1, environmentOnly: 2, neither: 3, unusable: 1 },
  ]);
});

test('an unavailable model fails the activity, and a retry only judges the remaining candidates', async () => {
  const campaign = await executedCandidates(8);
  judging.model.answerBy((request) =>
    /Candidate [56]:/.test(judgeQuestion(request)!.goal) ? { status: 503 } : honest(request),
  );
  await expect(judge(campaign, 0, 8)).rejects.toMatchObject({ type: 'ModelError.unavailable', nonRetryable: false });
  expect(await judging.services.store.judgements.list(campaign.key, 'candidate')).toHaveLength(6);
  const before = judging.model.log.length;
  judging.model.answerBy(honest);
  await judge(campaign, 0, 8);
  expect(judging.model.log).toHaveLength(before + 2);
  expect(await judging.services.store.judgements.list(campaign.key, 'candidate')).toHaveLength(8);
});
