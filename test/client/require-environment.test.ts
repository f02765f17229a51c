import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { dryRun, throwProblems } from '../../src/client/check-spec';
import { requireEnvironment } from '../../src/client/require-environment';
import { readConfig } from '../../src/config';
import { createEnvironments, type Environments } from '../../src/envs/environments';
import { listEnvironments } from '../../src/envs/list-environments';
import { readSpec } from '../../src/specification/read-spec';
import { startScriptedServer, type ScriptedServer } from '../support/scripted-server';
import { startEnvironmentServer, type EnvironmentServer } from '../support/environment-server';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-require-'));
let ownServer: EnvironmentServer;
let thirdParty: ScriptedServer;
let environments: Environments;

beforeAll(async () => {
  [ownServer, thirdParty] = await Promise.all([startEnvironmentServer(), startScriptedServer()]);
  const file = path.join(folder, 'environments.yaml');
  const { url } = thirdParty;
  const servers = { counting: { url }, away: { url: 'http://127.0.0.1:9' }, stated: { url, state: ['count'] } };
  writeFileSync(file, JSON.stringify({ servers })); // JSON is YAML
  environments = createEnvironments({ environment: ownServer, environmentsFile: file });
});
afterAll(async () => {
  await Promise.all([ownServer.kill(), thirdParty.stop()]);
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() =>
  thirdParty.answerWith({ body: { action: { properties: { text: { type: 'string' } } }, observation: {}, state: {} } }),
);

const spec = (changes: object) => readSpec(JSON.stringify({ name: 'c', seed: 1, recipe: 'eto', ...changes }), 'c.yaml');
const price = { inputPerMillion: 0, outputPerMillion: 0 };
const llm = { models: { explorer: { provider: 'p', model: 'm', price } } };
const imported = { start: 'base', policy: { source: 'imported', model: 'smollm2' } };

test('an environment of our server is accepted, and a third-party one with an imported policy or experts', async () => {
  await requireEnvironment(environments, spec({ environment: { name: 'intercode-sql' } }));
  await requireEnvironment(environments, spec({ environment: { name: 'counting' }, ...imported }));
  await requireEnvironment(environments, spec({ environment: { name: 'counting', experts: 'a'.repeat(64) } }));
});

const composing = { environment: { name: 'counting' }, recipe: 'coevolve', llm, ...imported };

test('a recipe with a language model composes tasks where a checker grades them, or a judge with known verdicts', async () => {
  const experts = 'a'.repeat(64);
  for (const environment of [{ name: 'intercode-sql' }, { name: 'counting', experts }, { name: 'stated' }])
    await requireEnvironment(environments, spec({ ...composing, environment }));
});

test.each([
  {
    label: 'a supervised start without gold',
    changes: { environment: { name: 'counting' } },
    message: /^start: found sft, and counting has no expert actions to train on.*start: base.*coevolve experts import/,
  },
  {
    label: 'synthesis without a generator',
    changes: { environment: { name: 'counting' }, recipe: 'combined', ...imported },
    message: /^recipe: "combined" synthesizes tasks, and counting has no generator of variants; add an llm section/,
  },
  {
    label: 'a judge as the only grader without calibration tasks',
    changes: { ...composing, judge: { calibrationTasks: 0 } },
    message:
      /^judge.calibrationTasks: found 0, and the judge alone grades tasks composed in counting; expected at least 1/,
  },
  {
    label: 'a judge as the only grader without reference actions for its calibration',
    changes: composing,
    message: /^environment.experts: found none, and the judge alone grades .*; import some: `coevolve experts import/,
  },
  {
    label: 'an unknown environment',
    changes: { environment: { name: 'chess' } },
    message: /^environment.name: found "chess", expected one of intercode-sql, counting, away, stated$/,
  },
  {
    label: 'a property of every object as an environment',
    changes: { environment: { name: 'constructor' } },
    message: /^environment.name: found "constructor", expected one of intercode-sql, counting, away, stated$/,
  },
])('$label is rejected', async ({ changes, message }) => {
  await expect(requireEnvironment(environments, spec(changes))).rejects.toMatchObject({
    name: 'DomainError',
    code: 'InvalidSpec',
    message: expect.stringMatching(message),
  });
});

describe('a spec is checked against the server, the files and the machine', () => {
  const checked = (changes: object) => {
    const config = readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: folder });
    return dryRun({ ...config, environment: { url: ownServer.url, token: ownServer.token } }, spec(changes));
  };
  const sql = (changes: object) => ({
    environment: { name: 'intercode-sql', trainTasks: 8, heldOutTasks: 12, ...changes },
  });

  test('a correct spec has no problem', async () => {
    expect(await checked(sql({}))).toEqual({ problems: [], needs: [], warnings: [], unchecked: [] });
  });

  test.each([
    {
      label: 'an unknown option',
      changes: sql({ options: { nonsense: 1 } }),
      message: /^environment: intercode-sql rejects the spec: unknown option 'nonsense'; known: databases/,
    },
    {
      label: 'an unknown environment',
      changes: { environment: { name: 'intercode-sq' } },
      message: /; did you mean intercode-sql\?$/,
    },
    {
      label: 'missing experts',
      changes: sql({ experts: 'a'.repeat(64) }),
      message: /^environment.experts: no imported experts/,
    },
  ])('$label is a problem', async ({ changes, message }) => {
    const { problems } = await checked(changes);
    expect(problems).toMatchObject([{ message: expect.stringMatching(message) }]);
  });

  test('more tasks than the environment has are two problems, one per split', async () => {
    const files = { environmentsFile: path.join(folder, 'environments.yaml'), environment: ownServer };
    const config = { ...readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: folder }), ...files };
    thirdParty.answerWith({ status: 404 }); // the server lists no tasks
    const many = { name: 'counting', trainTasks: 20_000, heldOutTasks: 5_000 };
    const { problems } = await dryRun(config, spec({ environment: many, ...imported }));
    expect(problems.map(({ message }) => message)).toEqual([
      'environment.trainTasks: found 20000, expected at most 1000, the train tasks of counting',
      'environment.heldOutTasks: found 5000, expected at most 200, the held-out tasks of counting',
    ]);
  });

  test('tasks that a server repeats are problems with their ids', async () => {
    const files = { environmentsFile: path.join(folder, 'environments.yaml'), environment: ownServer };
    const config = { ...readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: folder }), ...files };
    const tasks = (...ids: number[]) => ({ tasks: ids.map((task_id, n) => ({ task_id, goal: `goal ${n}` })) });
    const answers: Record<string, unknown> = {
      '/list_environments': ['env'],
      '/env/splits': ['train', 'test'],
      '/env/tasks': tasks(1, 2, 2, 3, 3, 3, 4),
    };
    thirdParty.answerWith((route) => (route in answers ? { body: answers[route] } : { status: 404 }));
    const some = { name: 'counting', trainTasks: 7, heldOutTasks: 7 };
    const { problems } = await dryRun(config, spec({ environment: some, ...imported }));
    const repeats =
      /^environment\.(train|heldOut)Tasks: counting repeats 2 of 7 (train|held-out) tasks: \2\/[23], \2\/[23]$/;
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(repeats),
      expect.stringMatching(repeats),
    ]);
  });

  test.each([
    [
      'positions',
      { init: { maxPositions: 64 } },
      /^training\.init\.maxPositions: found 64, expected at least \d+, where training\.sft\.maxLength is null or \d+ too: 20 trajectories of intercode-sql have \d+ to \d+ tokens, and \d.* lie beyond 64, where maxLostActions allows 10 %$/,
    ],
    [
      'a row length',
      { sft: { maxLength: 70 } },
      /^training\.sft\.maxLength: found 70, expected null or at least \d+: /,
    ],
  ])(
    '%s below the lengths of the environment are a problem with the values that fit',
    async (_name, training, line) => {
      const { problems } = await checked({ ...sql({}), training });
      expect(problems).toMatchObject([{ message: expect.stringMatching(line) }]);
      const [, wanted] = /expected (?:null or )?at least (\d+)/.exec(problems[0]!.message)!;
      const fitting =
        'init' in training ? { init: { maxPositions: Number(wanted) } } : { sft: { maxLength: Number(wanted) } };
      expect((await checked({ ...sql({}), training: fitting })).problems).toEqual([]);
    },
  );

  test('a job that may lose all actions is no problem, only a warning', async () => {
    const training = { sft: { maxLength: 70, maxLostActions: 1 } };
    const { problems, warnings } = await checked({ ...sql({}), training });
    expect(problems).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/^training\.sft\.maxLength: found 70/)]);
  });

  test('actions that are too short for those of the environment are a problem', async () => {
    const { problems } = await checked({ ...sql({}), rollouts: { maxTokens: 1 } });
    expect(problems).toMatchObject([
      { message: expect.stringMatching(/^rollouts\.maxTokens: found 1, expected at least \d+: 100 % of the actions/) },
    ]);
  });

  test('all problems are found together', async () => {
    const { problems } = await checked(sql({ options: { nonsense: 1 }, experts: 'a'.repeat(64) }));
    expect(problems).toHaveLength(2);
    expect(() => throwProblems(problems)).toThrow(/environment\.experts: [^]*\nenvironment: /);
  });

  test('what this machine lacks is listed as not checked, with the command that adds it', async () => {
    const elsewhereLlm = { models: { explorer: { provider: 'somewhere', model: 'large', price } } };
    const elsewhere = { ...sql({}), ...imported, recipe: 'coevolve', llm: elsewhereLlm };
    expect(await checked(elsewhere)).toEqual({
      problems: [],
      needs: [],
      warnings: [],
      unchecked: [
        expect.stringMatching(/^llm.models.explorer.provider: found "somewhere", .* COEVOLVE_LLM_PROVIDERS/),
        expect.stringMatching(/^policy.model: found "smollm2", .*`coevolve model import <source> --name smollm2`/),
      ],
    });
  });

  test('without its database, a dry run lists the name as not checked', async () => {
    const databaseUrl = 'postgres://nobody@127.0.0.1:9/none';
    const config = { ...readConfig({ PATH: process.env['PATH'], COEVOLVE_HOME: folder }), databaseUrl };
    expect(await dryRun({ ...config, environment: ownServer }, spec(sql({})))).toEqual({
      problems: [],
      needs: [],
      warnings: [],
      unchecked: [expect.stringMatching(/^name: the database cannot be read \(.*ECONNREFUSED/)],
    });
  });

  test('a device of another machine and a server that does not answer are listed as not checked', async () => {
    const config = readConfig({
      PATH: process.env['PATH'],
      COEVOLVE_HOME: folder,
      COEVOLVE_ENVIRONMENT_URL: 'http://127.0.0.1:9',
    });
    const { problems, unchecked } = await dryRun(config, spec({ ...sql({}), compute: { device: 'cuda' } }));
    expect({ problems, unchecked }).toEqual({
      problems: [],
      unchecked: [
        expect.stringMatching(/^compute.device: cuda/),
        expect.stringMatching(/^no environment server answers/),
      ],
    });
  });
});

test('an environment that the machine cannot host is rejected with the missing dependency', async () => {
  const read = () =>
    Promise.resolve({
      status: 'healthy',
      environments: {},
      broken: [],
      changed: [],
      unavailable: { scienceworld: 'no Java: install jre' },
    });
  const data = { ...environments.data, names: () => Promise.resolve(['bfcl']) };
  const withoutJava = { ...environments, data, health: { ...environments.health, read } };
  await expect(requireEnvironment(withoutJava, spec({ environment: { name: 'scienceworld' } }))).rejects.toThrow(
    'environment.name: "scienceworld" is not available on this machine: no Java: install jre; then run `coevolve up` again',
  );
});

test('the list contains available environments and the reasons why others are not', async () => {
  const sqlCan = { variants: true, compose: 'checker', states: false };
  const listed = await listEnvironments(environments);
  expect(listed).toMatchObject([
    { name: 'intercode-sql', section: 'hosted', unavailable: null, sessions: 0, capacity: 256, capabilities: sqlCan },
    { name: 'counting', section: 'servers', unavailable: null, capacity: 8, capabilities: { gold: false } },
    { name: 'away', section: 'servers', unavailable: expect.stringContaining('servers.away.url'), capabilities: null },
    { name: 'stated', capabilities: { compose: 'checker', states: true } },
  ]);
});
