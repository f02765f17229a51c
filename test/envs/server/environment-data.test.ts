import { environmentData } from '../../../src/envs/server/environment-data';
import { startScriptedServer, type Answer, type ScriptedServer } from '../../support/scripted-server';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.stop());

const request = { split: 'train', count: 2, seed: 7, options: {} } as const;
const record = {
  task_id: 't',
  goal: 'How many?',
  definition: {},
  features: { difficulty: 1 },
  content_key: 'k',
  reference_actions: ['select 1'],
};
const tasks = () => environmentData({ url: server.url, token: 'secret' }).tasks('sql', request);

test('a request for tasks contains the token, and the tasks are returned unchanged', async () => {
  server.answerWith({ body: { tasks: [record] } });
  await expect(tasks()).resolves.toEqual([record]);
  expect(server.requests).toEqual([
    { method: 'POST', path: '/envs/sql/data/tasks', authorization: 'Bearer secret', body: request },
  ]);
});

const answers: { answer: string; given: Answer; kind: string; problem: string }[] = [
  { answer: '500', given: { status: 500, body: 'it broke' }, kind: 'fault', problem: 'answered 500: it broke' },
  { answer: '403', given: { status: 403, body: 'no token' }, kind: 'rejected', problem: 'answered 403: no token' },
  {
    answer: '404',
    given: { status: 404, body: 'no generator' },
    kind: 'rejected',
    problem: 'answered 404: no generator',
  },
  {
    answer: 'a web page',
    given: { body: '<html></html>' },
    kind: 'rejected',
    problem: 'wrong fields in the answer: the body',
  },
  {
    answer: 'an object without a list',
    given: { body: {} },
    kind: 'rejected',
    problem: 'wrong fields in the answer: tasks',
  },
  {
    answer: 'a task without its gold',
    given: { body: { tasks: [record, { ...record, reference_actions: undefined }] } },
    kind: 'rejected',
    problem: 'wrong fields in the answer: tasks.1.reference_actions',
  },
];

test.each(answers)(
  'the answer "$answer" results in an EnvironmentError of kind $kind',
  async ({ given, kind, problem }) => {
    server.answerWith(given);
    await expect(tasks()).rejects.toMatchObject({
      name: 'EnvironmentError',
      kind,
      message: expect.stringContaining(problem),
    });
    expect(server.requests).toHaveLength(1);
  },
);

test('a connection closed before the answer results in an unreachable server', async () => {
  server.answerWith('hang-up');
  await expect(tasks()).rejects.toMatchObject({ kind: 'unreachable' });
});

const composing = { parent: { database: 'singer' }, query: 'How many?', actions: ['select 1', 'submit'], options: {} };
const compose = () => environmentData({ url: server.url }).compose('sql', composing);

test.each([
  { task: { ...record, grader: 'judge' } },
  { refused: { reason: 'empty-result', detail: 'the last query answers no rows' } },
])('a composition is returned as a task or as a refusal', async (body) => {
  server.answerWith({ body });
  await expect(compose()).resolves.toEqual(body);
  expect(server.requests).toMatchObject([{ path: '/envs/sql/data/compose', body: composing }]);
});

test('a composition that is neither is rejected', async () => {
  server.answerWith({ body: { task: record } });
  await expect(compose()).rejects.toMatchObject({ name: 'EnvironmentError', kind: 'rejected' });
});

const withInfinity = (text: object): string => JSON.stringify(text).replace('"INFINITE"', '1e400');

test('a number that is too large for JSON is rejected with its field in a task, in capabilities and in a composition', async () => {
  const rejected = (message: string) => ({ name: 'EnvironmentError', kind: 'rejected', message });
  const definition = { limits: [1, 'INFINITE'] };
  server.answerWith({ body: withInfinity({ tasks: [record, { ...record, definition }] }) });
  await expect(tasks()).rejects.toMatchObject(
    rejected(
      '/envs/sql/data/tasks: tasks.1.definition.limits.1: found 1e400, expected an integer up to 2^53, a decimal up to 1.8e308, or a text',
    ),
  );
  server.answerWith({ body: withInfinity({ variants: false, max_turns: 'INFINITE' }).replace('1e400', '-1e400') });
  await expect(environmentData({ url: server.url }).capabilities('sql')).rejects.toMatchObject(
    rejected(
      '/envs/sql/data/capabilities: max_turns: found -1e400, expected an integer up to 2^53, a decimal up to 1.8e308, or a text',
    ),
  );
  server.answerWith({ body: withInfinity({ task: { ...record, grader: 'judge', definition } }) });
  await expect(compose()).rejects.toMatchObject(
    rejected(
      '/envs/sql/data/compose: task.definition.limits.1: found 1e400, expected an integer up to 2^53, a decimal up to 1.8e308, or a text',
    ),
  );
});
