import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as fc from 'fast-check';
import { ServiceError } from '../../../src/errors/errors';
import { answerBounds, listBounds } from '../../../src/input/json-bounds';
import type { EnvironmentSession, OpenEnvironment } from '../../../src/envs/contract/environment';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { environmentData } from '../../../src/envs/server/environment-data';
import { closeLeases } from '../../../src/envs/server/close-leases';
import { serverHealth } from '../../../src/envs/server/health';
import { thirdPartyClient } from '../../../src/envs/third-party/client';
import { listTasks } from '../../../src/envs/third-party/list-tasks';
import type { ThirdPartyServer } from '../../../src/envs/third-party/read-servers';
import { chatClient } from '../../../src/llm/chat-client';
import { policyClient } from '../../../src/llm/policy-client';
import { packVectors, unitVectors } from '../../../src/llm/unit-vectors';
import { startHostileServer, type HostileServer } from '../../support/hostile-server';
import { scriptedProvider } from '../../support/models/scripted-provider';
import { mutatedAnswers } from '../../support/mutated-answers';

let server: HostileServer;
beforeAll(async () => {
  server = await startHostileServer();
});
afterAll(() => server.stop());

const { signal } = new AbortController();
const messages = [{ role: 'user', content: 'How many?' }];

/** Returns the client's value, or undefined after a typed error; any other error fails the test. */
const valueOf = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    expect(error.message.length).toBeLessThanOrEqual(4_000);
    return undefined;
  });

async function requireUsable<T>(
  answer: unknown,
  call: () => Promise<T>,
  isUsable: (value: T) => boolean,
  send = (body: Buffer): void => server.answerWith(body),
): Promise<void> {
  send(Buffer.from(JSON.stringify(answer)));
  expect(isUsable(await call())).toBe(true); // the unchanged answer is accepted
  await fc.assert(
    fc.asyncProperty(mutatedAnswers(answer), async (body) => {
      send(body);
      const value = await valueOf(call());
      return value === undefined || isUsable(value);
    }),
    { numRuns: 80 },
  );
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31;
const isFloat = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(Math.fround(value));

const policyAnswer = {
  model: 'a',
  prompt_token_ids: [1, 2, 3],
  choices: [
    {
      message: { content: 'select 1' },
      finish_reason: 'stop',
      token_ids: [4, 5],
      logprobs: { content: [{ logprob: -0.5 }, { logprob: -0.25 }] },
    },
  ],
};
const sample = () =>
  policyClient(server).sample({ policyId: 'a', messages, seed: 1, temperature: 1, maxTokens: 9, signal });

test('a policy client returns only tokens that training can use', () =>
  requireUsable(
    policyAnswer,
    sample,
    ({ promptTokenIds, tokenIds, logprobs, content }) =>
      [...promptTokenIds, ...tokenIds].every(isCount) &&
      logprobs.length === tokenIds.length &&
      logprobs.every((value) => isFloat(value) && value <= 0 && (value === 0 || Math.fround(value) < 0)) &&
      typeof content === 'string',
  ));

const chatRequest = {
  model: 'm',
  messages,
  temperature: 0,
  seed: 1,
  tokenLimit: 9,
  responseFormat: null,
  reasoningEffort: null,
  body: {},
  requestId: 'r',
  timeoutSeconds: 30,
  signal,
};
const chat = () => chatClient(scriptedProvider(server.url)).chat(chatRequest);
const chatAnswer = {
  choices: [{ message: { content: 'seven' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 2 },
};

test('a model client returns only text with whole counts of tokens', () =>
  requireUsable(
    chatAnswer,
    chat,
    ({ reply, usage }) =>
      typeof (reply.kind === 'refused' ? reply.reason : reply.text) === 'string' &&
      isCount(usage.promptTokens) &&
      isCount(usage.completionTokens),
  ));

test('a model client returns only vectors of finite numbers', () =>
  requireUsable(
    {
      data: [
        { index: 1, embedding: [0, 1] },
        { index: 0, embedding: [1, 0] },
      ],
      usage: { prompt_tokens: 9 },
    },
    () =>
      chatClient(scriptedProvider(server.url)).embed({
        model: 'e',
        texts: ['a', 'b'],
        requestId: 'r',
        timeoutSeconds: 30,
        signal,
      }),
    ({ vectors, usage }) =>
      vectors.length === 2 && unitVectors(packVectors(vectors)).flat().every(isFloat) && isCount(usage.promptTokens),
  ));

const task = {
  task_id: 't',
  goal: 'How many?',
  definition: { a: [1] },
  features: { difficulty: 1 },
  parent: 0,
  content_key: 'k',
  reference_actions: ['select 1'],
};

test('a client of environment data returns only tasks that can be stored', () =>
  requireUsable(
    { tasks: [task] },
    () => environmentData(server).variants('sql', { parents: [], relation: 'easier', count: 1, seed: 1, options: {} }),
    (tasks) =>
      tasks.every(
        ({ task_id: id, content_key: key, parent }) =>
          [id, key].every((text) => text.length > 0 && text.length <= 500) && isCount(parent ?? 0),
      ) && JSON.stringify(tasks).length > 0,
  ));

test('a client of the health route returns only whole counts and short deadlines', () =>
  requireUsable(
    { environments: { sql: { sessions: 0, capacity: 8, call_seconds: 30 } } },
    () => serverHealth(server).read(),
    ({ environments }) =>
      Object.values(environments).every(
        ({ sessions, capacity, callMs }) =>
          [sessions, capacity].every(isCount) && (callMs === undefined || (callMs > 0 && callMs < 2 ** 31)),
      ),
  ));

const thirdParty = (): ThirdPartyServer => ({
  name: 'other',
  action: 'json',
  tasks: 1,
  heldOutTasks: 1,
  maxTurns: 9,
  replay: 'none',
  sessions: 1,
  answerSeconds: 20,
  reward: { min: 0, max: 1, of: 'last' },
  instruction: undefined,
  endpoint: server,
});

const listed = { tasks: [{ task_id: 't', goal: 'How many?', features: { difficulty: 1 } }] };

test.each(['/list_environments', '/env/splits', '/env/tasks'])(
  'tasks that a third-party server lists at %s have short ids and can be stored',
  (route) => {
    const answers: Record<string, unknown> = {
      '/list_environments': ['env'],
      '/env/splits': [{ name: 'all', type: 'train' }],
      '/env/tasks': listed,
    };
    return requireUsable(
      answers[route],
      () => listTasks(thirdParty(), 'train'),
      (tasks = []) => tasks.every(({ id }) => id.length <= 100) && JSON.stringify(tasks).length > 0,
      (body) => server.answerWith((path) => (path === route ? body : Buffer.from(JSON.stringify(answers[path] ?? {})))),
    );
  },
);

const observation = {
  type: 'observation',
  data: {
    observation: { messages, tools: [{ name: 'f' }], info: { score: 0.5 } },
    reward: 0.5,
    done: true,
    metadata: { raw_score: 5, stop_reason: 'won' },
  },
};

async function reset(open: OpenEnvironment) {
  const session: EnvironmentSession = await open('sql', { signal });
  return session.reset({ task: {}, seed: 1, episodeId: 'e' }).finally(() => session.close());
}

const clients: [string, () => OpenEnvironment][] = [
  ['our server', () => openEnvClient(server, { health: { find: async () => undefined, read: async () => never } })],
  ['a third-party server', () => thirdPartyClient(thirdParty())],
];
const never = { status: '', environments: {}, unavailable: {}, broken: [], changed: [] };

test.each(clients)('a session of %s returns only observations that can be stored', (_, client) =>
  requireUsable(
    observation,
    () => reset(client()),
    ({ messages: shown, reward, done, rawScore, score, stopReason }) =>
      shown.length > 0 &&
      shown.every(
        ({ role, content }) =>
          ['system', 'user', 'assistant', 'tool', 'functions'].includes(role) && content !== undefined,
      ) &&
      (!done || (reward >= 0 && reward <= 1)) &&
      [rawScore, score].every((value) => value === null || Number.isFinite(value)) &&
      (stopReason ?? '').length <= 200 &&
      JSON.stringify(shown).length > 0,
    (body) => server.answerMessagesWith([body]),
  ),
);

const space = Buffer.alloc(2 ** 18, ' ');
const endlessCalls: [string, () => Promise<unknown>, number][] = [
  ['a policy server', sample, answerBounds.maxBytes],
  ['the list of a policy server', () => policyClient(server).served(), answerBounds.maxBytes],
  ['a model provider', chat, answerBounds.maxBytes],
  ['the routes of an environment server', () => serverHealth(server).read(), answerBounds.maxBytes],
  ['the lists of an environment server', () => someVariants(), listBounds.maxBytes],
  ['the leases of an environment server', () => closeLeases(server, 'h'), answerBounds.maxBytes],
];

test.each(endlessCalls)('an endless answer of %s ends with a typed error', async (_, call, maxBytes) => {
  for (const status of [200, 500]) {
    server.answerWith({ endless: space }, status);
    expect(await valueOf(call())).toBeUndefined();
    expect(server.sentBytes()).toBeLessThan((status === 200 ? maxBytes : 0) + 12 * 2 ** 20); // and the sockets' buffers
  }
});

test.each([
  ['message', { endless: space }],
  ['number of messages', { flood: Buffer.alloc(2 ** 16, '{}') }],
])('an endless %s of an environment ends the session with a typed error', async (_, answer) => {
  server.answerMessagesWith(answer);
  for (const [, client] of clients) expect(await valueOf(reset(client()))).toBeUndefined();
  expect(server.sentBytes()).toBeLessThan(answerBounds.maxBytes + 12 * 2 ** 20);
});

/** Returns the longest time in milliseconds in which the event loop ran nothing else. */
async function longestBlock(calls: (() => Promise<unknown>)[]): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  for (const call of calls) expect(await valueOf(call())).toBeUndefined();
  delay.disable();
  return delay.max / 1e6;
}

const someVariants = () =>
  environmentData(server).variants('sql', { parents: [], relation: 'easier', count: 9, seed: 1, options: {} });

test('an answer of millions of brackets does not block the event loop', async () => {
  server.answerWith(Buffer.from(`[${'[],'.repeat(10_000_000)}1]`));
  // Parsing needs some seconds; the limit leaves time for other processes.
  expect(await longestBlock([sample, chat, () => serverHealth(server).read()])).toBeLessThan(1_000);
});

test('a list of millions of wrong elements does not block the event loop', async () => {
  const list = `[${'1,'.repeat(3_000_000)}1]`;
  const ones = Buffer.from(`{"tasks": ${list}, "choices": ${list}, "prompt_token_ids": ${list}, "data": ${list}}`);
  server.answerWith(ones.subarray(0)); // 24 MB: only lists of tasks may be as long
  expect(await longestBlock([sample, chat, someVariants])).toBeLessThan(1_000);
  const short = `[${'1,'.repeat(1_000_000)}1]`;
  server.answerWith(Buffer.from(`{"choices": ${short}, "prompt_token_ids": [], "data": ${short}}`));
  expect(await longestBlock([sample, chat, () => policyClient(server).served()])).toBeLessThan(1_000);
  const data = `{"observation": {"messages": ${short}, "tools": ${short}}, "reward": 1, "done": true}`;
  server.answerMessagesWith([Buffer.from(`{"type": "observation", "data": ${data}}`)]);
  expect(await longestBlock([() => reset(clients[0]![1]())])).toBeLessThan(1_000);
});

test('a list of 25 MiB of valid tasks does not block the event loop', async () => {
  const words = 'find the number of singers '.repeat(8);
  const tasks = Array.from({ length: 100_000 }, (_, n) => `{"id": "task-${n}", "goal": "${words}", "level": ${n % 9}}`);
  const answers: Record<string, Buffer> = {
    '/list_environments': Buffer.from('["env"]'),
    '/env/splits': Buffer.from('[{"name": "all", "type": "train"}]'),
    '/env/tasks': Buffer.from(`{"tasks": [${tasks.join(', ')}]}`),
  };
  server.answerWith((path) => answers[path]!);
  const startedAt = performance.now();
  const list = async () => {
    expect(await listTasks(thirdParty(), 'train')).toHaveLength(100_000);
  };
  const blockedMs = await longestBlock([list]);
  expect(blockedMs).toBeLessThan((performance.now() - startedAt) / 4);
});

test('a list of millions of short tasks ends with a typed error', async () => {
  const ones = Buffer.from(`{"tasks": [${'1,'.repeat(300_000)}1]}`);
  server.answerWith((path) =>
    path === '/list_environments' ? Buffer.from('["env"]') : path === '/env/splits' ? Buffer.from('["train"]') : ones,
  );
  await expect(listTasks(thirdParty(), 'train')).rejects.toThrow('more than 250,000 elements in a list');
});
