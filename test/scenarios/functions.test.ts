import { createHash } from 'node:crypto';
import type { QueryResultRow } from 'pg';
import { testOfAll } from '../support/lane';
import { calledAnswers, functionCaller } from '../support/models/function-caller';
import {
  judgeAnswer,
  judgeByAnswers,
  judgeQuestion,
  seedAnswers,
  type KnownAnswers,
} from '../support/models/reference-judge';
import { startScriptedModel, type ModelRequest, type Rule, type ScriptedModel } from '../support/models/scripted-model';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';
import { worldExplorer } from '../support/models/world-explorer';
import { lineageParts, readComposed, startComposed, startGuessing, undertakings, worlds } from './composed-worlds';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const price = { inputPerMillion: 1, outputPerMillion: 2 };
const attempts = 3;
const tasksPerStep = 4;
const base = {
  seed: 5,
  recipe: 'coevolve',
  iterations: 1,
  environment: { name: 'bfcl', options: { categories: ['base'] }, trainTasks: 8, heldOutTasks: 3, maxTurns: 3 },
  rollouts: { attempts, maxTokens: 192, tasksPerStep, stepsPerIteration: 2 },
  signals: {
    forgetting: { enabled: false },
    rare: { minTotal: 1, measure: 'share', thetaPercent: 100 }, // an untrained policy never writes the same actions twice
  },
  judge: { calibrationTasks: 4, minimumAgreement: 0.8 },
  training: {
    init: { hiddenSize: 48, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 96, maxPositions: 16_384 },
    sft: { epochs: 1, maxLength: 16_384 },
    grpo: { maxLength: 16_384 },
  },
};
const synthesis = {
  initialTasks: 6,
  candidatesPerSignal: 6,
  grader: 'judge',
  exploration: { contextsPerSignal: 2, rounds: 1, maxTurns: 4 },
};
const llm = (judge: string) => ({
  models: {
    explorer: { provider: 'scripted', model: 'caller', price },
    judge: { provider: 'scripted', model: judge, price },
  },
});

const known: KnownAnswers = async (question) => [
  ...(await calledAnswers(question)),
  ...(await seedAnswers(() => stack.pool)(question)),
];

/** Correct for candidates and calibration; passes two thirds of the attempts, of which none of this policy succeeds. */
const generous: Rule = (request) =>
  /\/judge\/attempt\//.test(request.id!) && judgeQuestion(request)
    ? judgeAnswer(passes(request), 'drawn at random')
    : judgeByAnswers(known)(request);

const passes = ({ id }: Pick<ModelRequest, 'id'>): boolean => createHash('sha256').update(id!).digest()[0]! % 3 > 0;

const contrary = judgeByAnswers(known, { ofCompleted: 1, ofNotCompleted: 1 });

const explorer = worldExplorer(
  undertakings,
  functionCaller(generous),
  seedAnswers(() => stack.pool),
);

let guessing: Awaited<ReturnType<typeof startGuessing>>;
let model: ScriptedModel;
let stack: TestStack;
/** Reasons with which the campaign with the wrong judge parked, before and after a resume. */
const parked: string[] = [];

beforeAll(async () => {
  model = await startScriptedModel((request) =>
    request.model === 'contrary' ? functionCaller(contrary)(request) : explorer(request),
  );
  guessing = await startGuessing();
  stack = await bringUpStack(
    'functions',
    { scripted: { url: model.url } },
    { variables: { COEVOLVE_POLICY_CONTEXT: '16384', COEVOLVE_ENVIRONMENTS_FILE: guessing.settings } },
  );
  await stack.json('start', stack.specFile({ ...base, name: 'graded', synthesis, llm: llm('generous') }));
  const unexecuted = { ...synthesis, validation: 'off' };
  await stack.json('start', stack.specFile({ ...base, name: 'doubted', synthesis: unexecuted, llm: llm('contrary') }));
  for (const world of worlds) if (world.installed) await startComposed(stack, world, base, guessing.experts);
  await stack.waitForEnd('graded');
  parked.push(await reasonOfParking(0));
  await stack.json('resume', 'doubted');
  parked.push(await reasonOfParking(1));
});
afterAll(async () => {
  await stack?.remove();
  await Promise.all([model?.stop(), guessing?.kill()]);
});

/** Waits until the campaign has parked more than `before` times and returns the reason. */
const reasonOfParking = (before: number): Promise<string> =>
  until(async () => {
    const { n } = (await rows<{ n: number }>(`select count(*)::integer as n from events where kind = 'parked'`))[0]!;
    const { status, progress } = await stack.status('doubted');
    return n > before && status === 'parked' && progress.parked;
  }, 200);

async function rows<Row extends QueryResultRow>(sql: string): Promise<Row[]> {
  return (await stack.pool.query<Row>(sql)).rows;
}

describe('a campaign on functions whose tasks a judge grades', () => {
  testOfAll('admits and plays tasks of executed calls, in the first pool and for signals', async () => {
    expect(await rows(`select status from campaigns where name = 'graded'`)).toEqual([{ status: 'finished' }]);
    const admitted = await rows<{ iteration: number; origin: string; grader: string }>(
      `select k.created_iteration as iteration, k.origin, k.grader from tasks k join campaigns c on c.id = k.campaign_id
       join trajectories v on v.campaign_id = k.campaign_id and v.task_id = k.id and v.purpose = 'validation'
       join judgements j on j.campaign_id = k.campaign_id and j.task_id = k.id and j.kind = 'candidate' and j.completed
       where c.name = 'graded' and k.verdict = 'admitted' and k.origin <> 'seed'
         and k.reference_actions ->> 0 like '[%()]'
       group by k.campaign_id, k.id, k.created_iteration, k.origin, k.grader`,
    );
    const made = (iteration: number) => admitted.filter((task) => task.iteration === iteration);
    expect(made(0).length).toBeGreaterThanOrEqual(tasksPerStep);
    expect(made(1).length).toBeGreaterThan(0);
    for (const task of made(0)) expect(task).toMatchObject({ origin: 'random', grader: 'judge' });
    for (const task of made(1)) expect(task).toMatchObject({ origin: 'synthesized', grader: 'judge' });
  });

  testOfAll('shows the functions to its policy and to the judge, and stores each list once', async () => {
    const lists = await rows<{ sha256: string; characters: number }>(
      `select f.sha256, length(f.functions) as characters from function_lists f
       join campaigns c on c.id = f.campaign_id where c.name = 'graded'`,
    );
    const played = await rows<{ tokens: number; list: string }>(
      `select cardinality(s.prompt_token_ids) as tokens,
         jsonb_path_query_first(t.opening, '$[*] ? (@.role == "functions")') ->> 'content' as list
       from trajectories t join campaigns c on c.id = t.campaign_id
       join trajectory_turns s on s.campaign_id = t.campaign_id and s.trajectory_id = t.id and s.ordinal = 0
       where c.name = 'graded' and t.purpose = 'train'`,
    );
    expect(played.length).toBeGreaterThan(lists.length);
    const charactersOf = new Map(lists.map(({ sha256, characters }) => [sha256, characters]));
    for (const { tokens, list } of played) expect(tokens).toBeGreaterThan(charactersOf.get(list)! / 6);

    const judged = model.log.filter((request) => request.model === 'generous' && judgeQuestion(request));
    expect(judged.length).toBeGreaterThan(0);
    for (const { messages } of judged) expect(messages.at(-1)!.content).toContain('functions: [{"name":');
  });

  testOfAll(
    "takes every reward of its policy from a judgement of the attempt and stores the environment's score beside it",
    async () => {
      const played = await rows<{ reward: number; raw: number; completed: boolean; call: string }>(
        `select t.reward, t.raw_score as raw, j.completed, c.name || '/' || j.call_id as call
       from trajectories t join campaigns c on c.id = t.campaign_id
       left join judgements j on j.campaign_id = t.campaign_id and j.kind = 'attempt' and starts_with(j.id, t.id || '/')
       where c.name = 'graded' and t.purpose = 'train'`,
      );
      expect(played).toHaveLength(2 * tasksPerStep * attempts);
      for (const { reward, completed } of played) expect(reward).toBe(completed ? 1 : 0);
      expect(new Set(played.map(({ reward }) => reward)).size).toBe(2);
      expect(new Set(played.map(({ raw }) => raw ?? 0))).toEqual(new Set([0])); // the policy never scores in the environment
    },
  );

  testOfAll('trains on these rewards: groups with different rewards have an advantage', async () => {
    const [found] = await rows(
      `select count(*)::integer as steps from rl_steps where job_key like 'campaign/graded/%' and policy_id is not null`,
    );
    expect(found).toEqual({ steps: 2 });
    const mixed = await rows(`select distinct task_id from feedback_signals where kind = 'boundary'`);
    expect(mixed.length).toBeGreaterThan(0);
  });

  testOfAll('sends no request for a disabled signal', async () => {
    const kinds = await rows<{ kind: string }>(
      `select kind from feedback_signals union select aim from exploration_contexts where iteration = 1`,
    );
    expect(kinds.map(({ kind }) => kind).sort()).toEqual(['boundary', 'rare']);
    expect(model.log.filter(({ id }) => /forgetting/.test(id!))).toEqual([]);
  });

  testOfAll('sends no attempt at a held-out task to the judge', async () => {
    expect(
      await rows(
        `select j.id from judgements j join tasks k on k.campaign_id = j.campaign_id and k.id = j.task_id
         where k.split = 'held-out'`,
      ),
    ).toEqual([]);
  });
});

describe('a campaign with a judge that is always wrong and without validation of candidates', () => {
  testOfAll('admits candidates that were neither executed nor judged', async () => {
    const made = await rows<{ verdict: string; stage: string; played: boolean; judged: boolean }>(
      `select k.verdict, v.reason as stage,
         exists (select from trajectories t where t.campaign_id = k.campaign_id and t.task_id = k.id
           and t.purpose = 'validation') as played,
         exists (select from judgements j where j.campaign_id = k.campaign_id and j.task_id = k.id
           and j.kind = 'candidate') as judged
       from tasks k join campaigns c on c.id = k.campaign_id
       join admission_verdicts v on v.campaign_id = k.campaign_id and v.task_id = k.id and v.stage = 'executed'
       where c.name = 'doubted'`,
    );
    expect(made.filter(({ verdict }) => verdict === 'admitted').length).toBeGreaterThan(0);
    for (const task of made) expect(task).toMatchObject({ stage: 'validation is off', played: false, judged: false });
  });

  testOfAll('parks before the first reward after every resume and names the next commands', async () => {
    for (const reason of parked) {
      expect(reason).toMatch(
        /^the judge is right no more often .*: it agrees with 0\.00 \(0\.00 to 0\.\d\d\) of its newest calibration/,
      );
      expect(reason).toMatch(
        /judge\.minimumAgreement is 0\.8; `coevolve start` a campaign with another llm\.models\.judge/,
      );
    }
    expect(await stack.json('status', 'doubted')).toMatchObject({
      status: 'parked',
      progress: { iteration: 1, phase: 'optimize' },
    });
    expect(
      await rows(
        `select t.id from trajectories t join campaigns c on c.id = t.campaign_id
         where c.name = 'doubted' and t.purpose = 'train' and t.reward is not null`,
      ),
    ).toEqual([]);
  });

  testOfAll('ends after a stop command', async () => {
    await stack.json('stop', 'doubted');
    await stack.waitForEnd('doubted');
    expect(await rows(`select status from campaigns where name = 'doubted'`)).toEqual([{ status: 'stopped' }]);
  });
});

describe.each(worlds)('a campaign on $name, which composes tasks in the worlds of others', (world) => {
  const when = world.installed ? testOfAll : test.skip;

  when('grows its pool by validated tasks, plays them, and prints their lineage', async () => {
    const { admitted, lineage, violations } = await readComposed(stack, world);
    const queries = undertakings[world.name].map(({ query }) => query);
    expect(admitted.length).toBeGreaterThanOrEqual(2);
    for (const { goal } of admitted) expect(queries).toContain(goal);
    expect(new Set(admitted.map(({ iteration }) => iteration))).toEqual(new Set([0, 1]));
    expect(admitted.reduce((total, { played }) => total + played, 0)).toBe(4);
    const judged = model.log.filter((request) => request.model === world.name && judgeQuestion(request));
    const told = judged.filter(({ messages }) =>
      messages.at(-1)!.content.includes('The actions have changed in the world:'),
    );
    expect(told.length > 0).toBe(world.name !== 'guess'); // its settings name no state
    for (const part of lineageParts) expect(lineage).toContain(part);
    expect(violations).toEqual([]);
  });
});
