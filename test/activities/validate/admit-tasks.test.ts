import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { getCampaign } from '../../../src/activities/context/dependencies';
import { admitTasks } from '../../../src/activities/validate/admit-tasks';
import { embedCandidates } from '../../../src/activities/validate/embed-goals';
import { judgeCandidates } from '../../../src/activities/validate/judge-candidates';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import { candidateTaskId } from '../../../src/domain/campaign/ids';
import type { SynthesisAim } from '../../../src/domain/campaign/recipe';
import { measureTrust, type Confusion } from '../../../src/domain/evaluation/judge-calibration';
import { judgeVersion } from '../../../src/llm/prompts/judge';
import { listLimitCuts } from '../../../src/report/campaign/task-pool';
import { scriptedModels, scriptedProviders } from '../../support/models/scripted-provider';
import { judgeByAnswers } from '../../support/models/reference-judge';
import { startScriptedModel, type ScriptedModel } from '../../support/models/scripted-model';
import { candidate, task } from '../../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { inActivity } from '../context/in-activity';
import { proposeValidated, taskCampaign, verdictsOf, type TaskCampaign } from '../context/task-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const idOf = (aim: SynthesisAim, ordinal: number, iteration = 1): string => candidateTaskId(iteration, aim, ordinal);

const admit = ({ services, key }: TaskCampaign) => admitTasks(services)(key);

const admittedBy = async (campaign: TaskCampaign): Promise<string[]> =>
  Object.entries(await verdictsOf(campaign)).flatMap(([id, verdict]) => (verdict === 'admitted' ? id : []));

describe('1,000 candidates with 200 duplicates, 100 leaks and 100 that are not executable', () => {
  const goalOf = (n: number): string => `Count the visitors that came to museum ${n} in the year ${1500 + n}.`;
  const kinds = Array.from(
    { length: 1000 },
    (_, n) => ['duplicate', 'fresh', 'fresh', 'leak or fault', 'fresh'][n % 5]!,
  );

  /** Every fifth repeats the next one; every tenth contains a held-out goal, and every tenth is not executable. */
  const candidates = kinds.map((kind, n) => {
    const id = idOf((['forgetting', 'boundary', 'rare'] as const)[n % 3]!, n);
    if (kind === 'duplicate') return { id, changes: { goal: `${goalOf(n + 1)} `, contentKey: `equal ${n + 1}` } };
    if (kind === 'fresh') return { id, changes: { goal: goalOf(n), contentKey: `content ${n}` } };
    return n % 10 === 3
      ? { id, changes: { goal: `Please: ${goalOf(5000 + n)}`, contentKey: `leak ${n}` } }
      : { id, reward: null, changes: { goal: goalOf(n), contentKey: `content ${n}` } };
  });

  async function createCampaign(): Promise<TaskCampaign> {
    const campaign = await taskCampaign(database.pool);
    const heldOut = candidates.flatMap((_, n) =>
      n % 10 === 3 ? task(`held ${n}`, { split: 'held-out', goal: goalOf(5000 + n) }) : [],
    );
    await campaign.store.tasks.seed(campaign.key, heldOut);
    await proposeValidated(campaign, candidates);
    return campaign;
  }

  const expected = { fresh: 600, duplicate: 200, 'held-out': 100, 'not-executable': 100 };

  async function requireExpected(campaign: TaskCampaign): Promise<void> {
    const verdicts = Object.entries(await verdictsOf(campaign)).filter(([id]) => id.startsWith('synthesized'));
    const count = (wanted: string): number => verdicts.filter(([, verdict]) => verdict === wanted).length;
    expect(count('admitted')).toBe(expected.fresh);
    for (const reason of ['duplicate', 'held-out', 'not-executable'] as const)
      expect(count(reason)).toBe(expected[reason]);
    const trails = await campaign.store.admission.listTrails(campaign.campaignId);
    expect(trails.size).toBe(1000);
    for (const [id, verdict] of verdicts)
      expect(trails.get(id)!.at(-1)).toMatchObject(verdict === 'admitted' ? { passed: true } : { reason: verdict });
  }

  test('exactly the other 600 are admitted, and every candidate has a trail', async () => {
    const campaign = await createCampaign();
    await admit(campaign);
    await requireExpected(campaign);
    const [round] = await campaign.store.admission.listDiversity(campaign.campaignId);
    expect(round).toMatchObject({ encoder: 'hashed-ngrams@1', tasks: 600, neighbours: 5, collapsed: false });
    expect(round!.energyDistance).toBeGreaterThan(0);
  });

  test('the same candidates are admitted after ten interrupted attempts', async () => {
    const campaign = await createCampaign();
    const killer = new Client({ connectionString: database.url });
    await killer.connect();
    let interrupted = 0;
    for (let kill = 1; kill <= 10; kill++) {
      const outcome = admit(campaign).then(
        () => 'completed',
        () => 'interrupted',
      );
      await sleep(20 * kill);
      await killer.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      if ((await outcome) === 'interrupted') interrupted++;
    }
    await killer.end();
    expect(interrupted).toBeGreaterThan(0);
    await admit(campaign).catch(() => admit(campaign)); // the pool may learn of the last kill by its next query
    await requireExpected(campaign);
    const verdicts = await verdictsOf(campaign);
    await admit(campaign);
    expect(await verdictsOf(campaign)).toEqual(verdicts);
  });
});

test('the quota without signals is the total of all signals', async () => {
  const synthesis = { quotaPerSignal: 2, aims: 'random' };
  const campaign = await taskCampaign(database.pool, { recipe: 'coevolve', synthesis });
  await proposeValidated(
    campaign,
    Array.from({ length: 9 }, (_, n) => ({ id: idOf('random', n) })),
  );
  await admit(campaign);
  expect(await admittedBy(campaign)).toHaveLength(6);
});

test('the first pool is limited to its size, by confidence, and has no quota', async () => {
  const synthesis = { initialTasks: 3, quotaPerSignal: 1, growthCap: 1 };
  const campaign = await taskCampaign(database.pool, { recipe: 'coevolve', synthesis }, { iteration: 0 });
  await campaign.store.tasks.seed(campaign.key, [task('seed')]);
  const ids = [11, 2, 1, 10].map((n) => ({
    id: idOf('random', n, 0),
    changes: { origin: 'random' as const, confidence: 1 - n / 20 },
  }));
  await proposeValidated(campaign, ids);
  await admit(campaign);
  expect(await verdictsOf(campaign)).toEqual({
    seed: 'admitted',
    [idOf('random', 1, 0)]: 'admitted',
    [idOf('random', 2, 0)]: 'admitted',
    [idOf('random', 10, 0)]: 'admitted',
    [idOf('random', 11, 0)]: 'growth-cap',
  });
});

test('a quota is shared by the contexts and the relations, and the report counts the cut candidates of each', async () => {
  const campaign = await taskCampaign(database.pool, { synthesis: { quotaPerSignal: 4, rule: 'strict' } });
  const { store, key } = campaign;
  await store.tasks.seed(key, [task('parent')]);
  const contexts = [0, 1].map(() => ({ taskId: 'parent', signalId: null, trajectoryId: null }));
  await store.exploration.planContexts(key, 'random', contexts);
  const explored = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => ({
    id: candidateTaskId(1, 'rare', `${Math.floor(n / 6)}.${n}`), // six of the first context, two of the second
    changes: { contextId: `1/random/${Math.floor(n / 6)}` },
  }));
  const generated = [0, 1, 2, 3, 4, 5].map((n) => ({
    id: idOf('boundary', n),
    changes: { relation: n < 3 ? 'easier' : 'harder' },
  }));
  await proposeValidated(campaign, [...explored, ...generated]);
  await admit(campaign);
  const client = await database.pool.connect();
  const cuts = await listLimitCuts(client, campaign.campaignId).finally(() => client.release());
  expect(cuts).toEqual([
    { iteration: 1, aim: 'boundary', contextId: null, relation: 'easier', admitted: 2, cut: 1 },
    { iteration: 1, aim: 'boundary', contextId: null, relation: 'harder', admitted: 2, cut: 1 },
    { iteration: 1, aim: 'rare', contextId: '1/random/0', relation: null, admitted: 2, cut: 4 },
  ]);
});

describe('the verdict of a candidate', () => {
  const judge = ({ store, key }: TaskCampaign, taskId: string, completed: boolean | null) =>
    store.judgements.save(key, {
      id: `1/candidate/${taskId}`,
      kind: 'candidate',
      taskId,
      judgeVersion: 'judge@1',
      callId: `judge/${taskId}`,
      completed,
      reason: 'judge reason',
      criteria: null,
      failure: completed === null ? 'malformed' : null,
    });

  test("the verdict on a generator's candidate comes from the environment if it has a checker, otherwise from the judge", async () => {
    const llm = { models: { explorer: scriptedModels.models.explorer } };
    const campaign = await taskCampaign(database.pool, { llm, synthesis: { rule: 'by-author' } });
    const byJudge = { grader: 'judge' } as const;
    await proposeValidated(campaign, [
      { id: 'full', reward: 1 },
      { id: 'partly', reward: 0.5 },
      { id: 'failed', reward: 0 },
      { id: 'convincing', reward: 0, changes: byJudge },
      { id: 'unconvincing', reward: 1, changes: byJudge },
      { id: 'unclear', reward: 1, changes: byJudge },
      { id: 'unseen', reward: 1, changes: byJudge },
    ]);
    await judge(campaign, 'full', false);
    await judge(campaign, 'failed', true);
    await judge(campaign, 'convincing', true);
    await judge(campaign, 'unconvincing', false);
    await judge(campaign, 'unclear', null);
    await admit(campaign);
    expect(await verdictsOf(campaign)).toEqual({
      full: 'admitted',
      partly: 'admitted',
      failed: 'reference-fails',
      convincing: 'admitted',
      unconvincing: 'not-completed',
      unclear: 'not-judged',
      unseen: 'not-judged',
    });
  });

  test('the strict rule only admits a full reward', async () => {
    const campaign = await taskCampaign(database.pool, { synthesis: { rule: 'strict' } });
    await proposeValidated(campaign, [
      { id: 'full', reward: 1 },
      { id: 'partly', reward: 0.5 },
    ]);
    await admit(campaign);
    expect(await verdictsOf(campaign)).toEqual({ full: 'admitted', partly: 'reference-fails' });
  });

  test('without validation, execution and judge are skipped, but a refusal still rejects', async () => {
    const campaign = await taskCampaign(database.pool, { synthesis: { validation: 'off' } });
    await proposeValidated(campaign, [
      { id: 'unplayed', reward: null },
      { id: 'refused', reward: null, changes: { refusal: 'empty-result' } },
    ]);
    await planValidation(campaign.services)(campaign.key);
    await expect(campaign.store.tasks.countPlanned(campaign.key, 'validation')).resolves.toBe(0);
    for (let attempt = 0; attempt < 2; attempt++) await admit(campaign);
    expect(await verdictsOf(campaign)).toEqual({ unplayed: 'admitted', refused: 'empty-result' });
    const trails = await campaign.store.admission.listTrails(campaign.campaignId);
    expect(trails.get('unplayed')!.find(({ stage }) => stage === 'executed')).toEqual({
      stage: 'executed',
      passed: true,
      reason: 'validation is off',
      detail: {},
    });
    expect(trails.get('refused')!.at(-1)).toMatchObject({ stage: 'valid', passed: false, reason: 'empty-result' });
  });
});

describe('ten candidates of a language model, of which two do not answer their query', () => {
  const actionOf = (n: number): string => `select count(*) from visits where museum = ${n}`;
  const isWrong = (n: number): boolean => n % 5 === 0;
  const candidates = Array.from({ length: 10 }, (_, n) => ({
    id: idOf('random', n),
    changes: {
      goal: `Count the visitors of museum ${n}.`,
      contextId: '1/random/0',
      referenceActions: [actionOf(isWrong(n) ? n + 1 : n)], // the replay scores 1 for either
    },
  }));
  const known = new Map(candidates.map(({ changes }, n) => [changes.goal, [[actionOf(n)]]]));

  let model: ScriptedModel;
  beforeAll(async () => {
    model = await startScriptedModel(judgeByAnswers(({ goal }) => known.get(goal) ?? []));
  });
  afterAll(() => model.stop());

  const perfect = { truePositives: 20, falsePositives: 0, trueNegatives: 20, falseNegatives: 0, unusable: 0 };

  /**
   * Stores the candidates of an exploration, judges and admits them by a judge with these verdicts in its calibration.
   * Returns their verdicts.
   */
  async function decide(synthesis: Record<string, unknown>, counts: Confusion = perfect, judge = {}) {
    const llm = { models: { explorer: scriptedModels.models.explorer } };
    const settings = { llm, synthesis: { rule: 'by-author', ...synthesis }, judge };
    const campaign = await taskCampaign(database.pool, settings, { providers: scriptedProviders(model.url) });
    const { store, key, services } = campaign;
    const { spec } = await getCampaign(services, key.campaignId);
    const calibration = { judgeVersion: judgeVersion(spec), counts, ...measureTrust(counts), dropped: 0, drift: null };
    await store.judgeCalibrations.save(key, calibration);
    await store.tasks.seed(key, [task('parent')]);
    await store.exploration.planContexts(key, 'random', [{ taskId: 'parent', signalId: null, trajectoryId: null }]);
    await proposeValidated(campaign, candidates);
    await planValidation(services)(key);
    await inActivity(() => judgeCandidates(services)({ ...key, from: 0, to: candidates.length }));
    await admit(campaign);
    const verdicts = await verdictsOf(campaign);
    return candidates.map(({ id }) => verdicts[id]);
  }

  const untrusted = [
    { judge: 'approves everything', counts: { ...perfect, falsePositives: 20, trueNegatives: 0 } },
    { judge: 'refuses everything', counts: { ...perfect, truePositives: 0, falseNegatives: 20 } },
    {
      judge: 'is right no more often than chance allows',
      counts: { ...perfect, truePositives: 11, falsePositives: 9, trueNegatives: 11, falseNegatives: 9 },
    },
  ];
  const votes = [{ rule: 'by-author' }, { rule: 'agreed' }, { rule: 'by-author', solverAttempts: 2 }];

  test.each(untrusted.flatMap((each) => votes.map((synthesis) => ({ ...each, synthesis }))))(
    'a judge that $judge admits nothing with $synthesis: the campaign parks with this word and the next command',
    async ({ judge, counts, synthesis }) => {
      const calls = model.log.length;
      await expect(decide(synthesis, counts)).rejects.toMatchObject({
        details: ['UntrustedJudge'],
        message: expect.stringMatching(
          new RegExp(`^the judge ${judge}: it agrees with .*\`coevolve fork c-[-\\w]+ --from-iteration 0 --name`),
        ),
      });
      expect(model.log).toHaveLength(calls);
    },
  );

  test('the solver replaces a judge that is not trusted, and admits nothing without an attempt', async () => {
    const synthesis = { rule: 'by-author', solverAttempts: 2 };
    const verdicts = await decide(synthesis, untrusted[0]!.counts, { whenUntrusted: 'solver' });
    expect(verdicts).toEqual(candidates.map(() => 'not-attempted'));
  });

  test('by default these two are rejected, although the replay of each scores 1', async () => {
    expect(await decide({})).toEqual(candidates.map((_, n) => (isWrong(n) ? 'not-completed' : 'admitted')));
  });

  test.each([{ validation: 'off' }, { rule: 'strict' }, { rule: 'paper' }])(
    'with %p all are admitted',
    async (synthesis) => {
      expect(await decide(synthesis)).toEqual(candidates.map(() => 'admitted'));
    },
  );
});

describe('with approval by an operator', () => {
  const approvedCampaign = async (): Promise<TaskCampaign> => {
    const campaign = await taskCampaign(database.pool, { synthesis: { approval: true, growthCap: 2 } });
    const spare = { id: idOf('rare', 3) };
    const confident = [1, 2].map((n) => ({ id: idOf('rare', n), changes: { confidence: 0.9 } }));
    const candidates = [{ id: idOf('rare', 0), reward: 0 }, ...confident, spare];
    await proposeValidated(campaign, candidates);
    return campaign;
  };

  test('passed candidates wait, the others are decided, and the error contains the next command', async () => {
    const campaign = await approvedCampaign();
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(admit(campaign)).rejects.toMatchObject({
        code: 'ApprovalNeeded',
        message: expect.stringMatching(/^2 tasks of iteration 1 .*`coevolve approve c-[-\w]+`$/),
      });
    expect(await verdictsOf(campaign)).toEqual({
      [idOf('rare', 0)]: 'reference-fails',
      [idOf('rare', 1)]: 'candidate',
      [idOf('rare', 2)]: 'candidate',
      [idOf('rare', 3)]: 'growth-cap',
    });
    await expect(campaign.store.admission.listDiversity(campaign.campaignId)).resolves.toEqual([]);
  });

  test('approved candidates are admitted, and rejected ones still count towards the cap', async () => {
    const campaign = await approvedCampaign();
    await expect(admit(campaign)).rejects.toMatchObject({ code: 'ApprovalNeeded' });
    const detail = { iteration: 1, rejected: [idOf('rare', 1)] };
    await campaign.store.campaigns.recordEvent(campaign.campaignId, { kind: 'approved', actor: 'test', detail });
    await admit(campaign);
    expect(await verdictsOf(campaign)).toEqual({
      [idOf('rare', 0)]: 'reference-fails',
      [idOf('rare', 1)]: 'operator',
      [idOf('rare', 2)]: 'admitted',
      [idOf('rare', 3)]: 'growth-cap',
    });
  });

  test('an iteration without passed candidates needs no approval', async () => {
    const campaign = await taskCampaign(database.pool, { synthesis: { approval: true } });
    await proposeValidated(campaign, [{ id: idOf('rare', 0), reward: 0 }]);
    await expect(admit(campaign)).resolves.toBeNull();
  });
});

test('tasks that repeat each other raise one collapse event', async () => {
  const admission = { duplicates: { similarity: 1 } };
  const campaign = await taskCampaign(database.pool, { admission: { ...admission, diversity: { collapse: 0.9 } } });
  const goals = ['!', '?', '.', '...'].map((mark) => `Show the name of every singer${mark}`);
  await proposeValidated(
    campaign,
    goals.map((goal, n) => ({ id: idOf('rare', n), changes: { goal } })),
  );
  for (let attempt = 0; attempt < 2; attempt++) await admit(campaign);
  const [round] = await campaign.store.admission.listDiversity(campaign.campaignId);
  expect(round).toMatchObject({ tasks: 4, collapsed: true, energyDistance: null });
  expect(round!.similarity).toBeCloseTo(1, 9);
  const { rows } = await database.pool.query('select kind, iteration from events where campaign_id = $1', [
    campaign.campaignId,
  ]);
  expect(rows).toEqual([{ kind: 'collapse', iteration: 1 }]);
});

describe('with an embedding model', () => {
  test('paraphrases are found, and admission makes no further embedding call', async () => {
    const model = await startScriptedModel();
    try {
      const providers = scriptedProviders(model.url);
      const campaign = await taskCampaign(database.pool, { llm: scriptedModels }, { providers });
      const { store, key, services } = campaign;
      const start = { ...key, iteration: 0, epoch: await store.iterations.open(campaign.campaignId, 0) };
      await store.tasks.seed(start, [
        task('seed', { goal: 'names of all old singers please' }),
        task('held', { split: 'held-out', goal: 'concerts of the year 2014 sorted by name' }),
      ]);
      await proposeValidated(campaign, [
        { id: idOf('rare', 0), changes: { goal: 'please: singers old, all of names' } },
        { id: idOf('rare', 1), changes: { goal: 'sorted by name: 2014 concerts of the year' } },
        { id: idOf('rare', 2), changes: { goal: 'how many dogs bark' } },
      ]);
      await inActivity(() => embedCandidates(services)(key));
      const paid = model.log.length;
      expect(paid).toBeGreaterThan(0);
      for (let attempt = 0; attempt < 2; attempt++) await admit(campaign);
      expect(model.log).toHaveLength(paid);
      expect(await verdictsOf(campaign)).toMatchObject({
        [idOf('rare', 0)]: 'duplicate',
        [idOf('rare', 1)]: 'held-out',
        [idOf('rare', 2)]: 'admitted',
      });
      const [round] = await store.admission.listDiversity(campaign.campaignId);
      expect(round).toMatchObject({ encoder: 'scripted/scripted-embedding', tasks: 1, similarity: null });

      const next = { ...key, iteration: 2, epoch: await store.iterations.open(campaign.campaignId, 2) };
      await store.tasks.propose(next, [candidate(idOf('rare', 0, 2), { goal: 'something else' })]);
      await inActivity(() => embedCandidates(services)(next));
      expect(model.log.slice(paid).flatMap(({ input }) => input)).toEqual(['something else']);
    } finally {
      await model.stop();
    }
  });
});
