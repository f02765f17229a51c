import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { QueryResultRow } from 'pg';
import { codeOf } from '../../src/errors/errors';
import { readState } from '../../src/stack/stack-state';
import type { TaskLineage } from '../../src/store/tasks/task-lineage';
import type { TaskRow } from '../../src/store/tasks/tasks';
import { payloadLimitBytes } from '../../src/temporal/payload-limit';
import { judgedSqlExplorer, requestKind } from '../support/models/sql-explorer';
import { startScriptedModel, type Rule, type ScriptedModel } from '../support/models/scripted-model';
import { historiesOf, payloadsOf, type RecordedRun } from '../support/histories';
import { describeOfAll } from '../support/lane';
import { bringUpStack, hangTimeoutMs, until, type Ran, type TestStack } from '../support/stack';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const name = 'guided';
const canary = 'canary-4f1d9c7b2a6e';
const price = { inputPerMillion: 1, outputPerMillion: 2 };
const spec = {
  name,
  seed: 5,
  recipe: 'coevolve',
  iterations: 1,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['pets_1', 'poker_player'], max_difficulty: 2 },
    trainTasks: 24,
    heldOutTasks: 8,
    maxTurns: 2,
  },
  llm: {
    models: {
      explorer: { provider: 'scripted', model: 'large', price },
      judge: { provider: 'scripted', model: 'careful', price },
      embedding: { provider: 'scripted', model: 'vectors', price: { ...price, outputPerMillion: 0 } },
    },
  },
  rollouts: { attempts: 2, maxTokens: 32, tasksPerStep: 4, stepsPerIteration: 2 },
  signals: { rare: { minTotal: 2, thetaPercent: 40, among: 'all', measure: 'share' } }, // a barely trained policy fails in many ways
  synthesis: {
    rule: 'by-author',
    initialTasks: 6,
    candidatesPerSignal: 6,
    approval: true,
    exploration: { contextsPerSignal: 2, rounds: 2, maxTurns: 8 },
  },
  judge: { calibrationTasks: 6 },
  training: {
    init: { hiddenSize: 48, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 96 },
    sft: { epochs: 2, batchSize: 4 },
  },
};

/** The first response is an error that quotes the key, as some servers do. */
const keyQuoting: Rule = (request) =>
  request.ordinal === 0
    ? { status: 500, message: `no capacity for ${request.headers.authorization}` }
    : judgedSqlExplorer(() => stack.pool)(request);

let model: ScriptedModel;
/** Answers `ok` to everything. */
let idle: ScriptedModel;
let stack: TestStack;
let keys: string;
let runs: RecordedRun[];
/** Per approval: the reason of the parking, the waiting candidates, and the results of two approve commands. */
const approvals: { parked: string; waiting: string[]; approved: Ran; again: Ran }[] = [];

beforeAll(async () => {
  keys = mkdtempSync(path.join(tmpdir(), 'coevolve-keys-'));
  writeFileSync(path.join(keys, 'scripted'), `${canary}\n`);
  model = await startScriptedModel(keyQuoting);
  idle = await startScriptedModel(() => 'ok');
  stack = await bringUpStack('language-model', {
    scripted: { url: model.url, keyFile: path.join(keys, 'scripted') },
    idle: { url: idle.url },
  });
  await stack.json('start', stack.specFile(spec));
  for (const iteration of [0, 1]) await approveAllButOne(iteration);
  await stack.waitForEnd(name);
  runs = await historiesOf(stack.client, name);
});
afterAll(async () => {
  await stack?.remove();
  await model?.stop();
  await idle?.stop();
  rmSync(keys, { recursive: true, force: true });
});

async function approveAllButOne(iteration: number): Promise<void> {
  const parked = await until(async () => {
    const { status, progress } = await stack.status(name);
    return status === 'parked' && progress.iteration === iteration && progress.parked;
  }, 200);
  const waiting = (await stack.json<TaskRow[]>('tasks', name, '--verdict', 'candidate')).map(({ id }) => id);
  const approved = await stack.cli('approve', name, '--reject', waiting[0]!);
  approvals.push({ parked, waiting, approved, again: await stack.cli('approve', name) });
}

async function rows<Row extends QueryResultRow>(sql: string): Promise<Row[]> {
  return (await stack.pool.query<Row>(sql)).rows;
}

test('the campaign parks for approval with the next command and continues once', async () => {
  expect(await rows(`select status from campaigns`)).toEqual([{ status: 'finished' }]);
  for (const [iteration, { parked, waiting, approved, again }] of approvals.entries()) {
    expect(parked).toMatch(`${waiting.length} tasks of iteration ${iteration} wait for approval`);
    expect(parked).toMatch(`admit them with \`coevolve approve ${name}\``);
    expect(approved).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${waiting.length - 1} tasks approved, 1 rejected; running`),
    });
    expect(again).toMatchObject({ code: 4, stderr: expect.stringMatching(/nothing waits for approval.*\n$/) });
  }
  expect(await rows(`select kind from events where kind = 'approved'`)).toHaveLength(2);
});

test('an approval admits all waiting tasks except the rejected one', async () => {
  for (const [iteration, { waiting }] of approvals.entries()) {
    expect(waiting.length).toBeGreaterThan(1);
    const decided = await rows<{ id: string; fate: string }>(
      `select id, coalesce(reason, verdict) as fate from tasks where origin <> 'seed' and created_iteration = ${iteration}`,
    );
    const fate = new Map(decided.map((task) => [task.id, task.fate]));
    expect(waiting.map((id) => fate.get(id))).toEqual(['operator', ...waiting.slice(1).map(() => 'admitted')]);
    expect(decided.filter((task) => task.fate === 'admitted')).toHaveLength(waiting.length - 1);
  }
});

test('every task admitted for a signal has a signal, context, runs, abstraction, validation and verdicts', async () => {
  const admitted = await rows<{ id: string }>(
    `select id from tasks where verdict = 'admitted' and origin = 'synthesized' and created_iteration = 1`,
  );
  expect(admitted).toHaveLength(approvals[1]!.waiting.length - 1);
  const complete = await rows(
    `select t.id from tasks t
     join feedback_signals s on s.campaign_id = t.campaign_id and s.id = t.parent_signal_id and s.iteration = 1
     join exploration_contexts c on c.campaign_id = t.campaign_id and c.id = t.context_id
       and c.signal_id = s.id and c.trajectory_id = s.trajectory_id and c.status = 'reflected'
     join abstractions a on a.campaign_id = t.campaign_id and a.context_id = c.id and a.failure is null
     join trajectories v on v.campaign_id = t.campaign_id and v.task_id = t.id and v.purpose = 'validation'
       and v.outcome = 'scored' and v.reward = 1
     join judgements j on j.campaign_id = t.campaign_id and j.task_id = t.id and j.kind = 'candidate' and j.completed
     where t.verdict = 'admitted' and t.created_iteration = 1
       and (select count(*) from exploration_runs r
            where r.campaign_id = c.campaign_id and r.context_id = c.id
              and exists (select from exploration_turns p where p.campaign_id = r.campaign_id and p.run_id = r.id)) = 2
       and (select array_agg(d.stage order by d.ordinal) = array['worded', 'executed', 'valid', 'judged', 'unique',
              'decontaminated', 'diverse', 'quota', 'growth-cap', 'approved'] and bool_and(d.passed)
            from admission_verdicts d where d.campaign_id = t.campaign_id and d.task_id = t.id)`,
  );
  expect(complete).toHaveLength(admitted.length);
});

test('the lineage of a task contains every link as text and as JSON', async () => {
  const admitted = await rows<{ id: string }>(
    `select id from tasks where verdict = 'admitted' and origin = 'synthesized' order by id`,
  );
  const links = await stack.json<TaskLineage>('lineage', `${name}/${admitted[0]!.id}`);
  const { signal, context, runs: explored, abstraction, validation, trajectories } = links;
  const raised = trajectories.filter((trajectory) => trajectory.raised);
  expect(raised).toHaveLength(1);
  const { stdout } = await stack.cli('lineage', `${name}/${admitted[0]!.id}`);
  const expected = [
    `signal ${signal!.id}`,
    raised[0]!.id,
    `context ${context!.id} (call reflect/${context!.id})`,
    'summary: The agent was asked',
    'cause: ',
    'objectives: count rows',
    ...explored.map(({ id }) => id),
    `abstraction ${abstraction!.id} (call ${abstraction!.callId})`,
    validation.trajectory!.id,
    'judged completed by judge@3 scripted/careful at 0',
    'passed approved',
  ];
  expect(expected.filter((text) => !stdout.includes(text))).toEqual([]);
});

test('the judge is calibrated with intervals in both iterations', async () => {
  const calibrations = await rows<{ low: number; high: number }>(
    `select iteration, agreement, precision_ as precision, recall, drifted, agreement_low as low, agreement_high as high
     from judge_calibrations order by iteration`,
  );
  const perfect = { agreement: 1, precision: 1, recall: 1, drifted: false };
  expect(calibrations).toMatchObject([
    { iteration: 0, ...perfect },
    { iteration: 1, ...perfect },
  ]);
  for (const { low, high } of calibrations) {
    expect(low).toBeGreaterThan(0.5);
    expect(low).toBeLessThan(1);
    expect(high).toBeCloseTo(1, 9);
  }
});

test('every model has its purposes of the spec and the token counts of its server', async () => {
  const used = await rows(
    `select model, array_agg(distinct purpose order by purpose) as purposes from model_calls group by model order by model`,
  );
  expect(used).toEqual([
    { model: 'careful', purposes: ['judge'] },
    { model: 'large', purposes: ['abstractor', 'explorer', 'reflector'] },
    { model: 'vectors', purposes: ['embedding'] },
  ]);
  const [recorded] = await rows(
    `select sum(prompt_tokens)::integer as prompt, sum(completion_tokens)::integer as completion from model_calls`,
  );
  const sum = (part: 'promptTokens' | 'completionTokens') =>
    model.log.reduce((total, { usage }) => total + (usage?.[part] ?? 0), 0);
  expect(recorded).toEqual({ prompt: sum('promptTokens'), completion: sum('completionTokens') });
});

test('calls, attempts and events show what models answered, what was played and who decided', async () => {
  const lines = async <Row>(...args: string[]): Promise<Row[]> => {
    const { code, stdout } = await stack.cli(...args, '--json');
    expect(code).toBe(0);
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Row);
  };
  const calls = await lines<{ id: string; verdict: string; purpose: string }>('calls', name);
  const [stored] = await rows<{ n: number }>('select count(*)::integer as n from model_calls');
  expect(calls).toHaveLength(stored!.n);
  expect(new Set(calls.map(({ verdict }) => verdict))).toEqual(new Set(['usable', 'unchecked']));
  const judged = calls.find(({ purpose }) => purpose === 'judge')!;
  const { stdout } = await stack.cli('calls', `campaign/${name}`, '--show', `${name}/${judged.id}`);
  for (const part of ['verdict of the parser: usable', 'system:\n', 'answer:\n', '"completed"'])
    expect(stdout).toContain(part);
  expect(await stack.cli('calls', name, '--show', 'nothing')).toMatchObject({ code: 3 });

  const [attempt] = await lines<{ id: string }>('attempts', name, '--phase', 'evaluate', '--limit', '1');
  expect(await stack.cli('trajectory', attempt!.id)).toMatchObject({ code: 0 });
  const listed = await stack.cli('attempts', name, '--limit', '2');
  expect(listed.stdout.trimEnd().split('\n')).toHaveLength(3);
  expect(listed.stderr).toMatch(/^2 of \d+ attempts; `--limit \d+` prints all$/m);

  const events = await lines<{ kind: string; actor: string }>('events', name);
  expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['started', 'parked', 'approved', 'finished']));
});

test('the report contains the language models and the judge', async () => {
  const { path: file } = await stack.json<{ path: string }>('report', name);
  const page = readFileSync(file, 'utf8');
  expect(page).toMatch(/<h2[^>]*>Language models<\/h2>/);
  expect(page).toMatch(/<h2[^>]*>Judge<\/h2>/);
  for (const text of ['scripted/careful', 'reflector', 'abstractor']) expect(page).toContain(text);
});

describe('a language model of a provider in place of a policy', () => {
  type Scored = {
    campaign: string;
    policyId: string;
    scores: { evaluationSet: string; feature: string | null; tasks: number; successes: number }[];
    models: { purpose: string; model: string; calls: number; tokens: number; usd: number }[];
  };
  const whole = ({ scores }: Scored) =>
    scores
      .filter(({ feature }) => feature === null)
      .map(({ evaluationSet, tasks, successes }) => [evaluationSet, tasks, successes]);
  const evaluate = (...args: string[]) => stack.json<Scored>('evaluate', name, '--model', ...args);

  test('plays the tasks of a campaign like its policy; outages are retried, answers are paid once', async () => {
    const references = await rows<{ goal: string; actions: string[] }>(
      `select goal, reference_actions as actions from tasks where split = 'held-out'`,
    );
    const before = model.log.length;
    model.answerBy(({ messages, ordinal }) => {
      if (ordinal === before) return { status: 503, message: 'overloaded' };
      const text = messages.map(({ content }) => content).join('\n');
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      return references.find(({ goal }) => text.includes(goal))?.actions[turn] ?? 'select 1';
    });
    const first = await evaluate('explorer', '--usd', '1');
    expect(whole(first)).toEqual([
      ['dev', 4, 4],
      ['test', 4, 4],
    ]);
    const asked = model.log.slice(before).filter(({ status }) => status === 200);
    expect(first.models).toMatchObject([{ purpose: 'solver', model: 'large', calls: asked.length }]);
    expect(first.models[0]!.usd).toBeGreaterThan(0);
    expect(new Set(asked.flatMap(({ messages }) => messages.map(({ role }) => role)))).toEqual(
      new Set(['system', 'user', 'assistant']),
    );
    const again = await evaluate('explorer', '--usd', '1');
    expect([again.campaign, whole(again)]).toEqual([first.campaign, whole(first)]);
    expect(model.log.slice(before).filter(({ status }) => status === 200)).toHaveLength(asked.length);
    expect((await stack.cli('compare', first.campaign, name)).code).toBe(0);
    const [policy] = await rows<{ uri: string }>(`select uri from policies where id = '${first.policyId}'`);
    expect(readFileSync(path.join(policy!.uri.slice('file://'.length), 'manifest.json'), 'utf8')).toContain('"large"');
  });

  test('wrong answers are scored 0, and at its budget the evaluation waits without a score until the budget is raised', async () => {
    const poor = ['idle/other', '--price', '1,2', '--usd', '0.000001', '--name', 'poor'];
    const evaluated = evaluate(...poor);
    const reason = await until(async () => {
      const { status, progress } = await stack.status('poor').catch(() => ({ status: '', progress: null }));
      return status === 'parked' && progress?.parked;
    }, 200);
    expect(reason).toContain('the budget of language models is reached');
    const scored = `select from trajectories t join campaigns c on c.id = t.campaign_id
      where c.name = 'poor' and t.purpose in ('evaluation', 'test')`;
    expect(await rows(scored)).toEqual([]);
    await stack.cli('budget', 'raise', 'poor', '--usd', '1');
    expect(whole(await evaluated)).toEqual([
      ['dev', 4, 0],
      ['test', 4, 0],
    ]);
  });
});

test('payloads contain ids and counts, not the text of models', () => {
  expect(new Set(runs.map(({ type }) => type))).toEqual(
    new Set(['campaign', 'iteration', 'explore', 'rollout', 'train']),
  );
  const sizes = runs.flatMap(({ history }) => payloadsOf(history).map(({ length }) => length));
  expect(Math.max(...sizes)).toBeLessThan(payloadLimitBytes);
});

describe('the API key of the provider', () => {
  test('is sent with every request and was quoted in an error', () => {
    expect(new Set(model.log.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${canary}`]));
    expect(model.log[0]).toMatchObject({ status: 500 });
    const quoting = runs
      .map(({ history }) => JSON.stringify(history))
      .filter((text) => text.includes('no capacity for'));
    expect(quoting.length).toBeGreaterThan(0); // the error is recorded
  });

  test('is in no row', async () => {
    const tables = await rows<{ name: string }>(
      `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
    );
    expect(tables.length).toBeGreaterThan(30);
    for (const table of tables)
      expect(await rows(`select t.* from ${table.name} t where t::text like '%${canary}%'`)).toEqual([]);
  });

  test('is in no history', () => {
    const texts = runs.flatMap(({ history }) => [
      JSON.stringify(history),
      ...payloadsOf(history).map((data) => Buffer.from(data).toString()),
    ]);
    expect(texts.filter((text) => text.includes(canary))).toEqual([]);
  });

  test('is in no file of the home: logs, reports, artifacts, databases', () => {
    const { home } = stack.bare;
    const { postgresDirectory } = readState(home); // outside the home when Postgres's user cannot reach into it
    const files = [home, ...(postgresDirectory ? [postgresDirectory] : [])].flatMap(filesIn);
    for (const part of ['logs/worker-llm', 'reports/guided.html', 'base/', 'temporal'])
      expect(files.filter((file) => file.includes(part)).length).toBeGreaterThan(0);
    expect(files.filter((file) => contentOf(file).includes(canary))).toEqual([]);
  });
});

test('a model that says `ok` to everything parks the first synthesis after few calls, and is quoted', async () => {
  const models = {
    explorer: { provider: 'idle', model: 'small', price },
    judge: { provider: 'idle', model: 'small', price },
  };
  const synthesis = {
    ...spec.synthesis,
    initialTasks: 24,
    exploration: { ...spec.synthesis.exploration, contextsPerSignal: 8 },
  };
  const useless = { ...spec, name: 'useless', synthesis, llm: { models, uselessAnswers: 3 } };
  await stack.json('start', stack.specFile(useless));
  const reason = await until(async () => {
    const { status, progress } = await stack.status('useless');
    return status === 'parked' && progress.parked;
  }, 200);
  expect(reason).toMatch('the last 3 answers of the abstractor (small of idle) could not be used');
  expect(reason.match(/^"ok": .+$/gm)).toHaveLength(3);
  expect(idle.log.filter((one) => one.model !== 'other').map(requestKind)).not.toContain('other'); // no judge was calibrated: there is no candidate
  const listed = await stack.cli('list', '--attention');
  expect(listed.stdout).toMatch(/useless .*parked/);
  await stack.json('abort', 'useless');
  await stack.waitForEnd('useless');
});

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));

/** Bytes of a file, none if it is gone: PostgreSQL removes caches such as `pg_internal.init` while it runs. */
const contentOf = (file: string): Buffer => {
  try {
    return readFileSync(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
};

describeOfAll('two forks of the start that differ in their aims', () => {
  const arms = ['control', 'placebo'] as const;
  beforeAll(async () => {
    for (const [arm, aims] of [
      ['control', 'random'],
      ['placebo', 'shuffled'],
    ] as const) {
      const changes = [`synthesis.aims=${aims}`, `synthesis.match=${name}`, 'synthesis.approval=false'];
      await stack.json('fork', name, '--from-iteration', '0', '--name', arm, '--set', ...changes);
    }
    for (const arm of arms) await stack.waitForEnd(arm);
  });

  /** Rows of each campaign by its name; the text of `sql` selects from campaign `c`. */
  const byName = async (sql: string): Promise<Map<string, unknown>> =>
    new Map((await rows<{ name: string; found: unknown }>(sql)).map((row) => [row.name, row.found]));

  const expectEqual = async (found: string, from: string): Promise<unknown> => {
    const values = await byName(`select c.name, ${found} as found from campaigns c join ${from} group by c.name`);
    for (const arm of arms) expect([arm, values.get(arm)]).toEqual([arm, values.get(name)]);
    return values.get(name);
  };

  test('only the aims, their match and the approval differ in the specs', async () => {
    const { differences } = await stack.json<{ differences: { key: string }[] }>('compare', name, ...arms);
    expect(differences.map(({ key }) => key)).toEqual([
      'name',
      'synthesis.aims',
      'synthesis.approval',
      'synthesis.match',
    ]);
  });

  test('the first pool, the policies up to the synthesis, the attempts and the signals are the same rows', async () => {
    const texts = (columns: string): string => `array_agg((${columns})::text order by (${columns})::text)`;
    const pool = await expectEqual(
      texts('t.id, t.content_key, t.verdict'),
      'tasks t on t.campaign_id = c.id and t.created_iteration = 0',
    );
    expect(pool).toContainEqual(expect.stringMatching(/^\(synthesized\/0\/random\/.*,admitted\)$/));
    await expectEqual(texts('p.id, p.role, p.iteration, p.step'), 'policies p on p.campaign_id = c.id');
    const attempts = `trajectories t on t.campaign_id = c.id and t.iteration = 1 and t.purpose = 'train'`;
    expect(await expectEqual(texts('t.id, t.policy_id, t.reward'), attempts)).toHaveLength(16);
    await expectEqual(texts('s.id, s.task_id, s.strength'), 'feedback_signals s on s.campaign_id = c.id');
  });

  test('as many contexts are explored in as many runs, in environments of the tasks that were played', async () => {
    const first = 'exploration_contexts x on x.campaign_id = c.id and x.iteration = 1 and x.refill = 0';
    const unguided = await byName(
      `select c.name, count(*)::integer as found from campaigns c join ${first} group by 1`,
    );
    expect(unguided.get(name)).toBeGreaterThan(0);
    expect(unguided.get('control')).toBe(unguided.get(name));
    expect(
      await rows(`select c.name, x.id from campaigns c join exploration_contexts x on x.campaign_id = c.id
        where x.iteration = 1 and not exists (select from planned_tasks p where p.campaign_id = c.id
          and p.iteration = 1 and p.purpose = 'train' and p.task_id = x.task_id)`),
    ).toEqual([]);
    const perContext = await rows<{ runs: number }>(`select distinct (select count(*)::integer from exploration_runs r
        where r.campaign_id = x.campaign_id and r.context_id = x.id) as runs
      from exploration_contexts x where x.status <> 'failed'`);
    expect(perContext).toEqual([{ runs: 2 }]);
  });

  test('the placebo explores no flagged task, with the reflections of the signals', async () => {
    const placebo = await rows<{ flagged: boolean; reflected: boolean }>(
      `select exists (select from feedback_signals s where s.campaign_id = x.campaign_id
          and s.iteration = x.iteration and s.task_id = x.task_id) as flagged,
         exists (select from model_calls m where m.campaign_id = x.campaign_id and m.id = 'reflect/' || x.id) as reflected
       from exploration_contexts x join campaigns c on c.id = x.campaign_id
       where c.name = 'placebo' and x.iteration = 1`,
    );
    for (const context of placebo) expect(context).toEqual({ flagged: false, reflected: true });
  });

  test('each arm admits as many tasks as it is matched with, or has used up its refills, and compare shows both', async () => {
    const { matches, effort } = await stack.json<{
      matches: { campaign: string; matched: string; iterations: Record<string, unknown>[] }[];
      effort: { admitted: number }[][];
    }>('compare', name, ...arms);
    expect(matches.map(({ campaign, matched }) => [campaign, matched])).toEqual(arms.map((arm) => [arm, name]));
    const wanted = effort[0]![1]!.admitted;
    expect(wanted).toBeGreaterThan(0);
    for (const { iterations } of matches) {
      const [match] = iterations;
      expect(iterations).toHaveLength(1);
      expect(match).toMatchObject({ iteration: 1, wanted, effort: { modelCalls: expect.any(Number) } });
      expect(match!['matchedEffort']).toEqual(effort[0]![1]);
      expect(match!['admitted'] === wanted || match!['refills'] === 3).toBe(true);
      expect(match!['admitted']).toBeLessThanOrEqual(wanted);
    }
  });
});
