import { abstractTasks } from '../../../src/activities/synthesize/abstract-tasks';
import { explore } from '../../../src/activities/synthesize/explore';
import { planExploration } from '../../../src/activities/synthesize/plan-exploration';
import { reflect } from '../../../src/activities/synthesize/reflect';
import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import { admitTasks } from '../../../src/activities/validate/admit-tasks';
import { judgeCandidates } from '../../../src/activities/validate/judge-candidates';
import { planValidation } from '../../../src/activities/validate/plan-validation';
import type { TaskRow } from '../../../src/store/tasks/tasks';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import {
  answeringBySchema,
  cutOff,
  refusingTemperature,
  thinkingApart,
  thinkingInline,
} from '../../support/models/model-habits';
import { startScriptedModel, type Rule, type ScriptedModel } from '../../support/models/scripted-model';
import { scriptedModels } from '../../support/models/scripted-provider';
import { judgedSqlExplorer, requestKind } from '../../support/models/sql-explorer';
import { inActivity } from '../context/in-activity';
import { flaggedCampaign, type FlaggedCampaign } from './flagged-campaign';

let database: FreshDatabase;
let environment: EnvironmentServer;
let model: ScriptedModel;
beforeAll(async () => {
  database = await freshDatabase();
  environment = await startEnvironmentServer();
});
beforeEach(async () => {
  model = await startScriptedModel();
});
afterEach(() => model.stop());
afterAll(async () => {
  await environment.kill();
  await database.drop();
});

const exploration = { contextsPerSignal: 1, rounds: 2, maxTurns: 6 };
const contextId = '1/forgetting/0';

/** Starts a campaign whose models answer as `judgedSqlExplorer` in this habit, and whose explorer has these settings. */
async function start(
  habit: (rule: Rule) => Rule,
  settings: object = {},
  changes: object = {},
): Promise<FlaggedCampaign> {
  model.answerBy(habit(judgedSqlExplorer(() => database.pool)));
  const { explorer, embedding } = scriptedModels.models;
  const flagged = await flaggedCampaign(
    { pool: database.pool, environment, modelUrl: model.url },
    {
      llm: { models: { explorer: { ...explorer, ...settings }, embedding } },
      synthesis: { rule: 'by-author', candidatesPerSignal: 4, exploration: { ...exploration, ...changes } },
      judge: { calibrationTasks: 2 },
    },
  );
  await planExploration(flagged.services)({ ...flagged.key, aim: 'forgetting' });
  return flagged;
}

/** Runs reflector, explorer, abstractor, validation, judge and admission on one context. Returns its tasks. */
async function synthesize({ services, key }: FlaggedCampaign): Promise<TaskRow[]> {
  await inActivity(() => reflect(services)({ ...key, contextId }));
  for (const round of [0, 1]) await inActivity(() => explore(services)({ ...key, contextId, round }));
  await inActivity(() => abstractTasks(services)({ ...key, contextId }));
  await planValidation(services)(key);
  const range = { from: 0, to: 10 };
  const plan = { purpose: 'validation', policyId: null, step: 0, ...range } as const;
  await inActivity(() => collectRollouts(services)({ ...key, ...plan }));
  await inActivity(() => judgeCandidates(services)({ ...key, ...range }));
  await admitTasks(services)(key);
  return services.store.tasks.list(key.campaignId, { createdIteration: 1 });
}

const runsOf = ({ services, key }: FlaggedCampaign) => services.store.exploration.listRuns(key.campaignId, contextId);

const admitted = (tasks: readonly TaskRow[]): number => tasks.filter(({ verdict }) => verdict === 'admitted').length;

test.each([
  { habit: 'thinks in tags and in prose', wrap: thinkingInline },
  { habit: 'returns its thinking apart', wrap: thinkingApart },
])('of a model that $habit only the actions are executed, and the turns keep both', async ({ wrap }) => {
  const flagged = await start(wrap);
  expect(admitted(await synthesize(flagged))).toBeGreaterThan(0);
  for (const { turns, outcome } of await runsOf(flagged)) {
    expect(outcome).toBe('finished');
    expect(turns.map(({ action }) => action).join()).not.toMatch(/think|action|look closer/);
    for (const { thinking } of turns) expect(thinking).toMatch(/Perhaps.*\?[^]*I look closer\.$/);
  }
  const later = model.log.filter((request) => requestKind(request) === 'exploration').map(({ messages }) => messages);
  for (const message of later.flat().filter(({ role }) => role === 'assistant'))
    expect(message.content).toMatch(/^<action>[^<]*<\/action>$/);
});

test('a model that refuses temperature and seed works with null for both, and otherwise fails with the setting', async () => {
  const refused = await start(refusingTemperature);
  await expect(synthesize(refused)).rejects.toThrow(/set temperature: null for this model in llm\.models/);
  const flagged = await start(refusingTemperature, { temperature: null, seed: null });
  await synthesize(flagged);
  expect(model.log.at(-1)).toMatchObject({ status: 200 });
});

test('a model that answers by schemas gets the schema of every answer in JSON, and none for actions', async () => {
  const flagged = await start(answeringBySchema, { structured: 'schema' });
  expect(admitted(await synthesize(flagged))).toBeGreaterThan(0);
  const named = model.log.map(
    ({ body }) => (body['response_format'] as { json_schema: { name: string } })?.json_schema,
  );
  expect(new Set(named.map((schema) => schema?.name))).toEqual(
    new Set(['reflection', undefined, 'abstraction', 'judge']),
  );
});

test.each(['thinking', 'answer'] as const)('a model that is cut off once in every %s is asked again', async (at) => {
  const flagged = await start(cutOff({ at }));
  expect(admitted(await synthesize(flagged))).toBeGreaterThan(0);
  for (const { turns } of await runsOf(flagged))
    expect(turns.every(({ callId }) => callId.endsWith('/shorten'))).toBe(true);
  const chats = model.log.filter(({ kind }) => kind === 'chat');
  expect(chats.filter(({ id }) => id!.includes('/shorten/'))).toHaveLength(chats.length / 2);
});

test('a run whose action is cut off twice ends, and the other run and the candidates go on', async () => {
  const isCut = ({ id }: { id: string | undefined }) => /\/run\/0\/3\//.test(id!);
  const flagged = await start(cutOff({ at: 'thinking', twice: true, isCut }));
  expect(admitted(await synthesize(flagged))).toBeGreaterThan(0);
  expect((await runsOf(flagged)).map(({ outcome, fault, turns }) => [outcome, fault, turns.length])).toEqual([
    ['cut-off', 'the answer reached maxTokens and thinkingTokens before it was complete', 3],
    ['finished', null, 6],
  ]);
});

test('a candidate whose judgement is cut off twice is rejected, and the others are admitted', async () => {
  let first: string | undefined;
  const isCut = ({ id }: { id: string | undefined }): boolean => {
    const candidate = /judge\/candidate\/1\/candidate\/([^/]+\/1\/forgetting\/[\d.]+)/.exec(id!)?.[1];
    first ??= candidate;
    return candidate !== undefined && candidate === first;
  };
  const flagged = await start(cutOff({ at: 'answer', twice: true, isCut }));
  const tasks = await synthesize(flagged);
  expect(tasks.find(({ id }) => id === first)).toMatchObject({ verdict: 'rejected' });
  expect(admitted(tasks)).toBeGreaterThan(0);
  const judgements = await flagged.services.store.judgements.list(flagged.key, 'candidate');
  expect(judgements.filter(({ failure }) => failure === 'cut-off').map(({ taskId }) => taskId)).toEqual([first]);
});

describe('the prompt of a run', () => {
  const systemOf = (run: number): string =>
    model.log.find(({ id }) => id!.includes(`${contextId}/run/${run}/0/`))!.messages[0]!.content;

  test('shows the earlier runs of the context and the nearest goals of the pool, none of them held-out', async () => {
    const flagged = await start((rule) => rule);
    const { services, key } = flagged;
    await synthesize(flagged);
    const [first, second] = [systemOf(0), systemOf(1)];
    expect(first).not.toContain('<earlier-runs>');
    const [run] = await runsOf(flagged);
    expect(second).toContain('Run 1 ended after 6 actions (finished).');
    expect(second).toContain(`It sent "${run!.turns[1]!.action}" and saw "`);
    const abstraction = model.log.find((request) => requestKind(request) === 'abstraction')!.messages[1]!.content;
    const seeds = (await services.store.tasks.list(key.campaignId)).filter(({ origin }) => origin === 'seed');
    for (const { goal, split } of seeds)
      for (const prompt of [second, abstraction]) expect(prompt.includes(`- ${goal}`)).toBe(split === 'train');
    const blocks = [second, abstraction].map((prompt) => /<examples>\n([^]*)\n<\/examples>/.exec(prompt)![1]!);
    expect(blocks[0]).toMatch(/^Request: [^]*\n<action>select [^<]*<\/action>/i);
    expect(Object.keys(JSON.parse(blocks[1]!.split('\n')[0]!) as object)).toEqual(['query', 'actions']);
    const heldOut = seeds.filter(({ split }) => split !== 'train');
    for (const block of blocks) for (const { goal } of heldOut) expect(block).not.toContain(goal);
  });

  test('is the same when the run is repeated after other contexts have proposed candidates', async () => {
    const flagged = await start((rule) => rule);
    const { services, key, pool } = flagged;
    await synthesize(flagged);
    const before = systemOf(1);
    await pool.query(`delete from exploration_turns where campaign_id = $1 and run_id like '%/run/1'`, [
      key.campaignId,
    ]);
    await pool.query(`delete from exploration_runs where campaign_id = $1 and round = 1`, [key.campaignId]);
    await pool.query(`delete from model_calls where campaign_id = $1 and id like '%/run/1/0'`, [key.campaignId]);
    model.log.length = 0;
    await inActivity(() => explore(services)({ ...key, contextId, round: 1 }));
    expect(systemOf(1)).toBe(before);
  });

  test('shows long observations up to the setting, with their start and their end', async () => {
    const flagged = await start((rule) => rule, {}, { observationCharacters: 200 });
    const { services, key } = flagged;
    model.answerBy((request) => (requestKind(request) === 'exploration' ? 'select * from sqlite_master' : '{}'));
    await flagged.pool.query(
      `update exploration_contexts set status = 'reflected', context = $2 where campaign_id = $1`,
      [
        key.campaignId,
        {
          summary: 's',
          failureCause: 'f',
          instabilityPattern: 'i',
          focusPatterns: [],
          explorationObjectives: [],
          doNotRepeat: [],
        },
      ],
    );
    await inActivity(() => explore(services)({ ...key, contextId, round: 0 }));
    const [run] = await runsOf(flagged);
    const whole = run!.turns[0]!.observation.map(({ content }) => content).join('\n');
    const shown = model.log.at(-1)!.messages[3]!.content;
    expect(whole.length).toBeGreaterThan(300);
    expect(shown).toBe(
      `${whole.slice(0, 100)} [... ${whole.length - 200} characters left out ...] ${whole.slice(-100)}`,
    );
  });

  test('is not made before the earlier runs are stored', async () => {
    const { services, key } = await start((rule) => rule);
    await inActivity(() => reflect(services)({ ...key, contextId }));
    await expect(inActivity(() => explore(services)({ ...key, contextId, round: 1 }))).rejects.toMatchObject({
      details: ['RunTooEarly'],
    });
  });
});
