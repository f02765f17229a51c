import { abstractTasks } from '../../../src/activities/synthesize/abstract-tasks';
import { commitPhase } from '../../../src/activities/campaign/commit-phase';
import { explore } from '../../../src/activities/synthesize/explore';
import { planExploration } from '../../../src/activities/synthesize/plan-exploration';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import { reflect } from '../../../src/activities/synthesize/reflect';
import { listRunGroups } from '../../../src/report/campaign/models';
import { getTaskLineage } from '../../../src/store/tasks/task-lineage';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { requestKind, sqlExplorer, type RequestKind } from '../../support/models/sql-explorer';
import {
  silence,
  startScriptedModel,
  type LoggedRequest,
  type ModelAnswer,
  type ScriptedModel,
} from '../../support/models/scripted-model';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { attempt, step as turnOf } from '../../store/support/new-campaign';
import { flaggedCampaign, type FlaggedCampaign } from './flagged-campaign';
import { inActivity } from '../context/in-activity';

let database: FreshDatabase;
let environment: EnvironmentServer;
let model: ScriptedModel;
beforeAll(async () => {
  database = await freshDatabase();
  environment = await startEnvironmentServer();
});
beforeEach(async () => {
  model = await startScriptedModel(sqlExplorer());
});
afterEach(() => model.stop());
afterAll(async () => {
  await environment.kill();
  await database.drop();
});

const campaign = (changes: Record<string, unknown> = {}) =>
  flaggedCampaign({ pool: database.pool, environment, modelUrl: model.url }, changes);

const settings = { candidatesPerSignal: 6, exploration: { contextsPerSignal: 2, rounds: 2, maxTurns: 8 } };
const contextId = '1/forgetting/0';

const requestsFor = (purpose: RequestKind): LoggedRequest[] =>
  model.log.filter((request) => requestKind(request) === purpose);

/** Runs all activities that the workflow runs for one context. */
async function exploreContext({ services, key }: FlaggedCampaign, id = contextId, rounds = 2) {
  const reflected = await inActivity(() => reflect(services)({ ...key, contextId: id }));
  const runs = [];
  for (let round = 0; round < rounds; round++)
    runs.push(await inActivity(() => explore(services)({ ...key, contextId: id, round })));
  const abstracted = await inActivity(() => abstractTasks(services)({ ...key, contextId: id }));
  return { reflected, runs, abstracted };
}

const plan = ({ services, key }: FlaggedCampaign, aim: 'forgetting' | 'boundary' | 'rare' | 'random') =>
  planExploration(services)({ ...key, aim });

test('a flagged trajectory becomes candidates whose reference actions the environment has executed', async () => {
  const flagged = await campaign({ synthesis: settings });
  const { services, key, spec } = flagged;
  await expect(plan(flagged, 'forgetting')).resolves.toEqual({ contexts: 2 });
  await expect(exploreContext(flagged)).resolves.toEqual({
    reflected: { usable: true },
    runs: [
      { outcome: 'finished', turns: 8 },
      { outcome: 'finished', turns: 8 },
    ],
    abstracted: { candidates: 3 }, // two contexts share the 6 candidates of the signal
  });

  const { taskId, trajectoryId, context } = await services.store.exploration.getContext(key.campaignId, contextId);
  const parent = await services.store.tasks.get(key.campaignId, taskId);
  expect(context?.summary).toContain(parent.goal);
  const candidates = await services.store.tasks.list(key.campaignId, { verdict: 'candidate' });
  expect(candidates.map(({ id }) => id)).toEqual(['0.0', '0.1', '0.2'].map((n) => `synthesized/1/forgetting/${n}`));
  for (const task of candidates) {
    expect(task).toMatchObject({
      origin: 'synthesized',
      split: 'train',
      createdIteration: 1,
      grader: 'environment',
      parentTaskId: taskId,
      parentSignalId: '1/forgetting/0',
      contextId,
      description: expect.stringContaining('one query'),
      completionCriterion: expect.any(String),
    });
    expect(task.confidence).toBeGreaterThan(0.9);
    expect(task.referenceActions.at(-1)).toBe('submit');
  }
  const lineage = await getTaskLineage(database.pool, spec.name, candidates[0]!.id);
  expect(lineage).toMatchObject({
    signal: { id: '1/forgetting/0', kind: 'forgetting' },
    trajectories: [{ id: trajectoryId, raised: true }],
    context: { id: contextId, status: 'reflected' },
    runs: [{ id: `${contextId}/run/0`, outcome: 'finished' }, { id: `${contextId}/run/1` }],
    abstraction: { id: `${contextId}/abstraction`, candidates: 3, callId: `abstract/${contextId}` },
  });
});

test('with one answer per action the actions come from the record, and the model writes their requests', async () => {
  const flagged = await campaign({ synthesis: { ...settings, abstraction: 'actions' } });
  const { services, key } = flagged;
  await plan(flagged, 'forgetting');
  const explored = await exploreContext(flagged);
  const asked = requestsFor('wording').map(({ messages }) => messages[1]!.content);
  expect(asked).toHaveLength(3); // the context's share
  expect(requestsFor('abstraction')).toEqual([]);
  const [{ turns } = { turns: [] }] = await services.store.exploration.listRuns(key.campaignId, contextId);
  const worded = asked.map((prompt) => /<work>\n\[1\] action:\n([^]*?)\n\[1\] observation:/.exec(prompt)![1]!);
  expect(turns.map(({ action }) => action).filter((action) => worded.includes(action))).toEqual(worded);
  for (const action of worded) expect(action).not.toMatch(/^describe|nothing_of_this_name|^submit/); // can be no task
  const tasks = await services.store.tasks.list(key.campaignId, { createdIteration: 1 });
  expect(tasks).toHaveLength(3);
  for (const [index, task] of tasks.entries())
    expect(task).toMatchObject({
      id: `synthesized/1/forgetting/0.${index}`,
      referenceActions: [worded[index], 'submit'],
      verdict: 'candidate',
      goal: expect.stringMatching(/^In \w+, report /),
      confidence: null,
      completionCriterion: null,
    });
  const calls = model.log.length;
  await expect(exploreContext(flagged)).resolves.toEqual(explored);
  expect(model.log).toHaveLength(calls);
});

test('a context whose actions can be no task is complete without a question to the abstractor', async () => {
  const flagged = await campaign({ synthesis: { ...settings, abstraction: 'actions' } });
  const { services, key } = flagged;
  await plan(flagged, 'forgetting');
  model.answerBy((request) =>
    requestKind(request) === 'exploration' ? `I would look at table ${model.log.length}.` : sqlExplorer()(request),
  );
  expect(await exploreContext(flagged)).toMatchObject({ abstracted: { candidates: 0 } });
  expect(requestsFor('wording')).toEqual([]);
  const [{ turns } = { turns: [] }] = (await services.store.exploration.listRuns(key.campaignId, contextId)).slice(-1);
  const stored = await services.store.exploration.findAbstraction(key.campaignId, contextId);
  expect(stored).toMatchObject({ candidates: 0, failure: null, callId: turns.at(-1)!.callId });
});

test('a repeated exploration returns the stored results without model calls', async () => {
  const flagged = await campaign({ synthesis: settings });
  await plan(flagged, 'forgetting');
  const first = await exploreContext(flagged);
  const calls = model.log.length;
  await expect(plan(flagged, 'forgetting')).resolves.toEqual({ contexts: 2 });
  await expect(exploreContext(flagged)).resolves.toEqual(first);
  expect(model.log).toHaveLength(calls);
  const { rows } = await database.pool.query(
    'select count(*)::integer as calls from model_calls where campaign_id = $1',
    [flagged.key.campaignId],
  );
  expect(rows).toEqual([{ calls }]);
});

test('an interrupted exploration resumes without paying for an answer twice', async () => {
  const flagged = await campaign({ synthesis: settings });
  const { services, key } = flagged;
  await plan(flagged, 'random');
  const worker = new AbortController();
  model.answerBy((request) => {
    if (requestsFor('exploration').length < 4) return sqlExplorer()(request);
    worker.abort(new Error('the worker was stopped'));
    return silence;
  });
  const run = { ...key, contextId: '1/random/0', round: 0 };
  await expect(inActivity(() => explore(services)(run), { signal: worker.signal })).rejects.toThrow('was stopped');
  await expect(services.store.exploration.findRun(key.campaignId, '1/random/0/run/0')).resolves.toBeUndefined();

  model.answerBy(sqlExplorer());
  await expect(inActivity(() => explore(services)(run))).resolves.toEqual({ outcome: 'finished', turns: 8 });
  const [stored] = await services.store.exploration.listRuns(key.campaignId, '1/random/0');
  expect(new Set(stored!.turns.map(({ callId }) => callId)).size).toBe(8);
  // Only the call that was running when the worker stopped is repeated.
  expect(
    requestsFor('exploration')
      .map(({ end }) => end)
      .sort(),
  ).toEqual(['aborted', ...Array(8).fill('answered')]);
});

describe('a reflection', () => {
  test.each(['boundary', 'forgetting', 'rare'] as const)(
    'of a %s signal shows the attempt with the opposite result where the signal compares the two',
    async (aim) => {
      const flagged = await campaign({ synthesis: settings });
      const { services, key } = flagged;
      await plan(flagged, aim);
      const id = `1/${aim}/0`;
      const { taskId, trajectoryId } = await services.store.exploration.getContext(key.campaignId, id);
      const { policyId } = await services.store.trajectories.get(key.campaignId, trajectoryId!);
      const start = { ...key, iteration: 0 };
      const save = (at: typeof key, number: number, action: string): Promise<unknown> =>
        services.store.trajectories.save(
          attempt(at, { taskId, policyId, purpose: 'train', attempt: number, reward: 1, turns: [turnOf(action)] }),
        );
      await save(key, 1, 'select of_the_same_policy');
      await save(start, 0, 'select of_an_earlier_iteration');
      await inActivity(() => reflect(services)({ ...key, contextId: id }));
      const prompt = requestsFor('reflection').at(-1)!.messages.at(-1)!.content;
      const shown = ['of_the_same_policy', 'of_an_earlier_iteration'].filter((action) => prompt.includes(action));
      expect(shown).toEqual(
        { boundary: ['of_the_same_policy'], forgetting: ['of_an_earlier_iteration'], rare: [] }[aim],
      );
      expect(prompt.includes('Reward of the other attempt: 1')).toBe(aim !== 'rare');
    },
  );

  const malformed = 'The agent should have joined the tables.';

  test('a malformed reflection is repaired once', async () => {
    const flagged = await campaign({ synthesis: settings });
    await plan(flagged, 'forgetting');
    model.answerBy((request) => (model.log.length === 1 ? malformed : sqlExplorer()(request)));
    const { services, key } = flagged;
    await expect(inActivity(() => reflect(services)({ ...key, contextId }))).resolves.toEqual({ usable: true });
    expect(model.log.map(({ id }) => id)).toEqual([
      expect.stringContaining(`reflect/${contextId}/1`),
      expect.stringContaining(`reflect/${contextId}/repair/1`),
    ]);
  });

  test.each([
    { answer: 'answer that is malformed twice', given: malformed, type: 'malformed', calls: 2 },
    { answer: 'refusal', given: { refusal: 'not allowed' }, type: 'refused', calls: 1 },
    {
      answer: 'answer that is truncated twice',
      given: { text: '{"summary": "it', finishReason: 'length' as const },
      type: 'cut-off',
      calls: 2,
    },
  ])('a $answer is stored as the failure of the context, which is not explored', async ({ given, type, calls }) => {
    const flagged = await campaign({ synthesis: settings });
    const { services, key } = flagged;
    await plan(flagged, 'forgetting');
    model.answerBy((): ModelAnswer => given);
    await expect(exploreContext(flagged)).resolves.toEqual({
      reflected: { usable: false },
      runs: [
        { outcome: null, turns: 0 },
        { outcome: null, turns: 0 },
      ],
      abstracted: { candidates: 0 },
    });
    expect(model.log).toHaveLength(calls);
    await expect(services.store.exploration.getContext(key.campaignId, contextId)).resolves.toMatchObject({
      status: 'failed',
      failure: { type, detail: expect.any(String) },
    });
  });
});

describe('a run', () => {
  test('a run ends with a refused action, and its earlier actions are used', async () => {
    const flagged = await campaign({ synthesis: settings });
    await plan(flagged, 'random');
    model.answerBy((request) =>
      requestsFor('exploration').length > 6 && requestKind(request) === 'exploration'
        ? { refusal: 'not allowed' }
        : sqlExplorer()(request),
    );
    const { runs, abstracted } = await exploreContext(flagged, '1/random/0', 1);
    expect(runs).toEqual([{ outcome: 'refused', turns: 6 }]);
    expect(abstracted.candidates).toBeGreaterThan(0);
    const { services, key } = flagged;
    await expect(services.store.exploration.listRuns(key.campaignId, '1/random/0')).resolves.toMatchObject([
      { outcome: 'refused', fault: 'not allowed', reward: null },
    ]);
  });

  test('a run ends with a truncated action', async () => {
    const flagged = await campaign({ synthesis: settings });
    await plan(flagged, 'random');
    model.answerBy(() => ({ text: 'select', finishReason: 'length' }));
    const { runs, abstracted } = await exploreContext(flagged, '1/random/0', 1);
    expect({ runs, abstracted }).toEqual({ runs: [{ outcome: 'cut-off', turns: 0 }], abstracted: { candidates: 0 } });
    expect(requestsFor('abstraction')).toEqual([]);
  });

  test('a run that reaches its turn limit is not finished and has no reward', async () => {
    const flagged = await campaign({
      synthesis: { ...settings, exploration: { ...settings.exploration, maxTurns: 4 } },
    });
    const { services, key } = flagged;
    await plan(flagged, 'random');
    model.answerBy(() => `select ${requestsFor('exploration').length}`);
    const run = { ...key, contextId: '1/random/0', round: 0 };
    await expect(inActivity(() => explore(services)(run))).resolves.toEqual({ outcome: 'turn-limit', turns: 4 });
    await expect(services.store.exploration.listRuns(key.campaignId, '1/random/0')).resolves.toMatchObject([
      { reward: null, fault: null, opening: [{ role: 'system' }, { role: 'user' }] },
    ]);
  });

  test('an answer of the explorer is noted without the environment, and the session goes on', async () => {
    const flagged = await campaign({ synthesis: settings });
    const { services, key } = flagged;
    await plan(flagged, 'random');
    const said = ['select 1', '<action>finish[12]</action>', 'submit', 'select 2'];
    model.answerBy(() => said[requestsFor('exploration').length - 1] ?? { refusal: 'no more' });
    const run = { ...key, contextId: '1/random/0', round: 0 };
    await expect(inActivity(() => explore(services)(run))).resolves.toEqual({ outcome: 'refused', turns: 4 });
    const [played] = await services.store.exploration.listRuns(key.campaignId, '1/random/0');
    expect(played!.turns.map(({ observation }) => observation)).toMatchObject([
      [{ content: '[(1,)]' }],
      [{ role: 'user', content: expect.stringContaining('The answer is noted.') }],
      [{ role: 'user', content: expect.stringContaining('A fresh one is open, as at the beginning') }], // after submit
      [{ content: '[(2,)]' }],
    ]);
  });

  test('a run that only repeats itself is told so and ends after two repetitions; one that copies it is not abstracted', async () => {
    const flagged = await campaign({ synthesis: settings });
    const { services, key } = flagged;
    await plan(flagged, 'random');
    model.answerBy((request) => (requestKind(request) === 'abstraction' ? '{"candidates": []}' : 'select 1'));
    const { runs } = await exploreContext(flagged, '1/random/0', 2);
    expect(runs).toEqual([
      { outcome: 'repeating', turns: 3 },
      { outcome: 'copied', turns: 3 },
    ]);
    const later = requestsFor('exploration')[2]!.messages.map(({ content }) => content);
    expect(later.filter((text) => text.includes('(You have sent this before'))).toEqual([later.at(-1)]);
    const copying = requestsFor('exploration')[3]!.messages[0]!.content;
    expect(copying).toContain('Run 1 ended after 3 actions (repeating).\nIt sent "select 1" and saw "[(1,)]".');
    const [abstraction] = requestsFor('abstraction');
    expect(abstraction!.messages[1]!.content).toContain('[1.3] action:');
    expect(abstraction!.messages[1]!.content).not.toContain('[2.1] action:');
    const client = await flagged.pool.connect();
    const counted = await listRunGroups(client, key.campaignId).finally(() => client.release());
    expect(counted).toEqual([
      { iteration: 1, aim: 'random', outcome: 'copied', runs: 1, turns: 3 },
      { iteration: 1, aim: 'random', outcome: 'repeating', runs: 1, turns: 3 },
    ]);
    expect(await services.store.exploration.findRun(key.campaignId, '1/random/0/run/1')).toMatchObject({
      outcome: 'copied',
    });
  });

  test('a run whose session breaks three times is an environment fault, and requests no action twice', async () => {
    const flagged = await campaign({ synthesis: settings });
    const { services, key } = flagged;
    await plan(flagged, 'random');
    const breaking = {
      ...services,
      openEnvironment: async (...args: Parameters<typeof services.openEnvironment>) => {
        const session = await services.openEnvironment(...args);
        let turns = 0;
        const step = (action: string) => {
          if (++turns === 3) session.close(); // the socket closes during the third action
          return session.step(action);
        };
        return { ...session, step };
      },
    };
    const run = { ...key, contextId: '1/random/0', round: 0 };
    await expect(inActivity(() => explore(breaking)(run))).resolves.toEqual({ outcome: 'environment-fault', turns: 2 });
    expect(requestsFor('exploration')).toHaveLength(3);
    await expect(services.store.exploration.listRuns(key.campaignId, '1/random/0')).resolves.toMatchObject([
      { reward: null, fault: expect.stringContaining('closed the session') },
    ]);
  });

  test('a run for a signal fails before the reflection', async () => {
    const flagged = await campaign({ synthesis: settings });
    const { services, key } = flagged;
    await plan(flagged, 'rare');
    const run = { ...key, contextId: '1/rare/0', round: 0 };
    await expect(inActivity(() => explore(services)(run))).rejects.toMatchObject({ details: ['NotReflected'] });
  });
});

describe('an abstraction', () => {
  const candidate = (actions: string[], changes: object = {}) => ({
    description: 'd',
    query: 'How many tables are there?',
    actions,
    confidence: 0.9,
    completionCriterion: 'a number',
    ...changes,
  });

  /** Explores a context with an abstractor that always answers with these candidates. */
  const abstractInto = async (candidates: object[], changes: Record<string, unknown> = {}) => {
    const flagged = await campaign({ synthesis: { ...settings, candidatesPerSignal: 20, ...changes } });
    await plan(flagged, 'random');
    model.answerBy((request) =>
      requestKind(request) === 'abstraction' ? JSON.stringify({ candidates }) : sqlExplorer()(request),
    );
    const { abstracted } = await exploreContext(flagged, '1/random/0', 1);
    const { store } = flagged.services;
    const made = await store.tasks.list(flagged.key.campaignId, { createdIteration: 1 });
    return { abstracted, made, flagged };
  };
  const tables = "select name from sqlite_master where type = 'table'";

  test('a candidate with an action that no run executed is rejected', async () => {
    const { abstracted, made } = await abstractInto([candidate([tables]), candidate([tables, 'select 42'])]);
    expect(abstracted).toEqual({ candidates: 2 });
    expect(made).toMatchObject([
      { id: 'synthesized/1/random/0.0', origin: 'random', verdict: 'candidate', parentSignalId: null },
      { id: 'synthesized/1/random/0.1', origin: 'random', verdict: 'rejected', reason: 'actions-not-seen' },
    ]);
  });

  test('a candidate with fewer actions than the spec asks for is rejected, and an answer is no action', async () => {
    const two = candidate([tables, 'submit'], { query: 'Which tables are there?' });
    const { made } = await abstractInto([candidate([tables, 'finish[5]']), two], { minActions: 2 });
    expect(made).toMatchObject([
      {
        verdict: 'rejected',
        reason: 'too-few-actions',
        definition: { refused: '1 of at least 2 actions' },
      },
      { verdict: 'candidate' },
    ]);
    const [exploration, abstraction] = [requestsFor('exploration')[0]!, requestsFor('abstraction')[0]!];
    expect(exploration.messages[0]!.content).toContain('undertakings of at least 2 actions, better 4 or more');
    expect(abstraction.messages[0]!.content).toContain('a task has at least 2 actions, better 4 or more');
    expect(abstraction.messages[1]!.content).toContain('<aim>\nrandom: no weakness is aimed at.');
  });

  test('a candidate that the environment cannot execute or score is rejected with the reason', async () => {
    const { made } = await abstractInto([candidate(['submit']), candidate([tables])]);
    expect(made).toMatchObject([
      {
        verdict: 'rejected',
        reason: 'bad-format',
        definition: { refused: expect.any(String) },
        goal: expect.any(String),
      },
      { verdict: 'candidate', reason: null, goal: 'How many tables are there?' },
    ]);
  });

  test('a candidate below the minimum confidence is not proposed', async () => {
    const unsure = candidate([tables], { confidence: 0.3 });
    const { abstracted, made } = await abstractInto([unsure, candidate([tables])], { minConfidence: 0.5 });
    expect(abstracted).toEqual({ candidates: 1 });
    expect(made.map(({ id }) => id)).toEqual(['synthesized/1/random/0.1']);
  });

  test('the grader of candidates comes from the spec', async () => {
    const { made } = await abstractInto([candidate([tables])], { grader: 'judge' });
    expect(made).toMatchObject([{ grader: 'judge' }]);
  });

  test('an answer that is malformed after a repair is stored as a failure without candidates', async () => {
    const flagged = await campaign({ synthesis: settings });
    const { services, key } = flagged;
    await plan(flagged, 'random');
    model.answerBy((request) =>
      requestKind(request) === 'abstraction' ? '{"candidates": "none"}' : sqlExplorer()(request),
    );
    const { abstracted } = await exploreContext(flagged, '1/random/0', 1);
    expect(abstracted).toEqual({ candidates: 0 });
    await expect(services.store.exploration.findAbstraction(key.campaignId, '1/random/0')).resolves.toMatchObject({
      candidates: 0,
      failure: { type: 'malformed' },
      callId: 'abstract/1/random/0/repair',
    });
  });
});

test('synthesis commits after every context is explored, and not if rows of an exploration are missing', async () => {
  const flagged = await campaign({
    synthesis: { ...settings, exploration: { ...settings.exploration, contextsPerSignal: 1 } },
  });
  const { services, key, pool } = flagged;
  const phaseKey = { ...key, phase: 'synthesize', previous: null } as const;
  await services.store.iterations.beginPhase(phaseKey);
  const commit = () => commitPhase(services)(phaseKey);
  const aims = ['forgetting', 'boundary', 'rare'] as const;
  for (const aim of aims) await plan(flagged, aim);
  await expect(commit()).rejects.toMatchObject({ message: expect.stringContaining('lacks 3 of its explorations;') });

  for (const aim of aims) await exploreContext(flagged, `1/${aim}/0`);
  await planValidation(services)(key);
  await pool.query(`delete from abstractions where campaign_id = $1 and context_id = '1/rare/0'`, [key.campaignId]);
  await expect(commit()).rejects.toMatchObject({ message: expect.stringContaining('lacks 1 of its explorations;') });
  await exploreContext(flagged, '1/rare/0');
  await expect(commit()).resolves.toMatchObject({ note: 'candidates 18' });
});
