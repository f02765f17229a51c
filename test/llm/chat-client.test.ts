import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { ChatSettings } from '../../src/llm/chat-body';
import { chatClient } from '../../src/llm/chat-client';
import type { Provider } from '../../src/llm/providers';
import {
  hangUp,
  silence,
  startScriptedModel,
  tokensOf,
  type ModelAnswer,
  type ScriptedModel,
} from '../support/models/scripted-model';
import { scriptedProvider } from '../support/models/scripted-provider';

let server: ScriptedModel;
beforeEach(async () => {
  server = await startScriptedModel();
});
afterEach(() => server.stop());

const messages = [{ role: 'user', content: 'How many ships are there?' }];

const client = (changes: Partial<Provider> = {}) => chatClient(scriptedProvider(server.url, changes));

const settings: ChatSettings = {
  model: 'm',
  messages,
  temperature: 0.5,
  seed: 3,
  tokenLimit: 50,
  reasoningEffort: null,
  body: {},
  responseFormat: null,
};

const chat = (
  changes: Partial<Provider> = {},
  signal = new AbortController().signal,
  other: Partial<ChatSettings> = {},
) => {
  const { timeoutSeconds = 30, ...provider } = changes;
  const sent = { requestId: 'campaign/reflect/1/2', timeoutSeconds: timeoutSeconds ?? 30, signal };
  return client(provider).chat({ ...settings, ...other, ...sent });
};

const embedding = { requestId: 'c/e/0/1', timeoutSeconds: 30, signal: new AbortController().signal };

type Failure = Error & { retryAfterMs?: number; notCharged?: boolean };

const failure = (changes: Partial<Provider> = {}): Promise<Failure> =>
  chat(changes).then(
    ({ reply }) => Promise.reject(new Error(`expected an error, got the reply ${JSON.stringify(reply)}`)),
    (error: unknown) => error as Failure,
  );

type Reply = { answer: string; given: ModelAnswer; reply: object };

test.each<Reply>([
  { answer: 'a text', given: 'seven', reply: { kind: 'text', text: 'seven' } },
  { answer: 'an empty text', given: { text: '' }, reply: { kind: 'text', text: '' } },
  {
    answer: 'a text that was cut off',
    given: { text: 'sev', finishReason: 'length' },
    reply: { kind: 'cut-off', at: 'limit', text: 'sev' },
  },
  { answer: 'a refusal', given: { refusal: 'I may not' }, reply: { kind: 'refused', reason: 'I may not' } },
  {
    answer: 'a filtered answer',
    given: { text: 'se', finishReason: 'content_filter' },
    reply: { kind: 'refused', reason: "the provider's content filter" },
  },
  {
    answer: 'a filtered prompt',
    given: { status: 400, code: 'content_filter', message: 'the prompt was filtered' },
    reply: { kind: 'refused', reason: expect.stringContaining('the prompt was filtered') },
  },
])('the client returns $answer as a reply', async ({ given, reply }) => {
  server.answerBy(() => given);
  await expect(chat()).resolves.toMatchObject({ reply });
});

test('the usage is the one in the response', async () => {
  server.answerBy(() => 'seven ships');
  const { usage } = await chat();
  const promptTokens = tokensOf(messages[0]!.content);
  expect(usage).toEqual({ promptTokens, completionTokens: tokensOf('seven ships'), estimated: false });
});

test('without a usage in the response, the usage is estimated and marked as such', async () => {
  server.answerBy(() => ({ text: 'seven ships', withoutUsage: true }));
  const promptTokens = Math.ceil(JSON.stringify(messages).length / 3);
  expect((await chat()).usage).toEqual({ promptTokens, completionTokens: 4, estimated: true });
});

const raw = (body: string) => ({ raw: `{"choices": [{"message": {"content": "seven ships"}}], "usage": ${body}}` });

test.each(['2.5', '1e300', '1e400', '-1000000', 'null', '"9"', '[]', '2147483648'])(
  'a count of %s in the usage is replaced by an estimate, and the answer is kept',
  async (count) => {
    const promptTokens = Math.ceil(JSON.stringify(messages).length / 3);
    const reply = { kind: 'text', text: 'seven ships' };
    server.answerBy(() => raw(`{"prompt_tokens": ${count}, "completion_tokens": 2}`));
    await expect(chat()).resolves.toEqual({ reply, usage: { promptTokens, completionTokens: 2, estimated: true } });
    server.answerBy(() => raw(`{"prompt_tokens": 9, "completion_tokens": ${count}}`));
    await expect(chat()).resolves.toEqual({ reply, usage: { promptTokens: 9, completionTokens: 4, estimated: true } });
    server.answerBy(() => raw(count));
    await expect(chat()).resolves.toEqual({ reply, usage: { promptTokens, completionTokens: 4, estimated: true } });
  },
);

test('fields that are not needed do not cost a paid answer', async () => {
  const message = '{"content": "seven", "refusal": 5}';
  server.answerBy(() => ({ raw: `{"choices": [{"message": ${message}, "finish_reason": 7}, "another"]}` }));
  await expect(chat()).resolves.toMatchObject({ reply: { kind: 'text', text: 'seven' } });
});

test.each([
  ['in reasoning_content', '{"content": "seven", "reasoning_content": "{\\"a\\":1}"}', '{"a":1}'],
  ['in reasoning', '{"content": "seven", "reasoning": "{\\"a\\":1}"}', '{"a":1}'],
  ['before the answer', '{"content": "<think>{}</think>\\n\\nseven"}', '<think>{}</think>'],
])('thinking %s is stored beside the text and is no part of it', async (_, message, thinking) => {
  server.answerBy(() => ({ raw: `{"choices": [{"message": ${message}}]}` }));
  const { reply, usage } = await chat();
  expect(reply).toEqual({ kind: 'text', text: 'seven', thinking });
  expect(usage.completionTokens).toBeGreaterThan(2); // it is paid
});

test('an answer that was cut off while thinking has no text', async () => {
  server.answerBy(() => ({ text: '<think>{"a":1}', finishReason: 'length' }));
  await expect(chat()).resolves.toMatchObject({ reply: { kind: 'cut-off', text: '', thinking: '<think>{"a":1}' } });
});

test('a request contains the key, the id for the log, and the model settings of the spec', async () => {
  await chat();
  const [{ headers, body, id }] = server.log as [(typeof server.log)[0]];
  expect({ authorization: headers.authorization, id }).toEqual({
    authorization: 'Bearer secret-key',
    id: 'campaign/reflect/1/2',
  });
  expect(body).toEqual({ model: 'm', messages, temperature: 0.5, seed: 3, max_tokens: 50 });
});

test('tokenLimitField sets the name of the token limit in the request', async () => {
  await chat({ tokenLimitField: 'max_completion_tokens' });
  expect(server.log[0]!.body).toMatchObject({ max_completion_tokens: 50 });
  expect(server.log[0]!.body).not.toHaveProperty('max_tokens');
});

test('settings that are null are not sent, and further keys and headers are', async () => {
  const body = { service_tier: 'flex', reasoning: { summary: 'auto' } };
  const none = { temperature: null, seed: null, reasoningEffort: 'high', body };
  await chat({ headers: () => ({ 'x-team': 'blue-team' }) }, undefined, none);
  expect(server.log[0]!.body).toEqual({ model: 'm', messages, max_tokens: 50, reasoning_effort: 'high', ...body });
  expect(server.log[0]!.headers).toMatchObject({ 'x-team': 'blue-team', authorization: 'Bearer secret-key' });
});

const unsupported = (param: string, message: string) => ({ status: 400, code: 'unsupported_value', param, message });

test.each([
  [unsupported('temperature', 'Only the default (1) value is supported.'), 'set temperature: null for this model'],
  [{ status: 400, message: "Unrecognized request argument supplied: 'seed'" }, 'set seed: null for this model'],
  [
    { status: 400, message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead." },
    'set tokenLimitField: max_completion_tokens of "scripted"',
  ],
  [{ status: 422, message: 'reasoning_effort: Extra inputs are not permitted' }, 'set reasoningEffort: null'],
  [{ status: 400, message: 'unknown field "service_tier"' }, 'set body without service_tier for this model'],
  [{ status: 400, message: 'json_object is not available for this model' }, 'set structured: none'],
  [{ status: 400, message: 'Invalid schema', param: 'response_format' }, 'set structured: none'],
])('a refused parameter is not retried, and the message names the setting: %j', async (given, advice) => {
  server.answerBy(() => given);
  const responseFormat = { type: 'json_object' } as const;
  const sent = { reasoningEffort: 'low', body: { service_tier: 'flex' }, responseFormat };
  await expect(chat({}, undefined, sent)).rejects.toMatchObject({
    kind: 'rejected',
    retryable: false,
    message: expect.stringContaining(advice),
  });
});

test('another error about a parameter gives no advice', async () => {
  server.answerBy(() => ({ status: 400, message: 'the temperature of the server room is too high' }));
  await expect(failure()).resolves.toMatchObject({ message: expect.not.stringContaining('refuses') });
});

test('a header that the server quotes is removed from the message', async () => {
  server.answerBy(() => ({ status: 403, message: 'the key sk-in-a-header is not valid' }));
  const { message } = await failure({ headers: () => ({ 'api-key': 'sk-in-a-header' }) });
  expect(message).toContain('the key <api-key> is not valid');
});

const inThreeMinutes = () => new Date(Math.ceil(Date.now() / 1000) * 1000 + 180_000).toUTCString();

type Failed = {
  answer: string;
  given: ModelAnswer;
  kind: string;
  problem?: string;
  delayMs?: number;
  notCharged?: boolean;
};

test.each<Failed>([
  { answer: '500', given: { status: 500 }, kind: 'unavailable', notCharged: true },
  { answer: '503', given: { status: 503 }, kind: 'unavailable', notCharged: true },
  { answer: '504, which may have been charged', given: { status: 504 }, kind: 'unavailable', notCharged: false },
  { answer: '408', given: { status: 408 }, kind: 'unavailable', notCharged: true },
  { answer: '409', given: { status: 409 }, kind: 'unavailable', notCharged: true },
  { answer: '425', given: { status: 425 }, kind: 'unavailable', notCharged: true },
  {
    answer: '429 with Retry-After in seconds',
    given: { status: 429, headers: { 'retry-after': '2.5' } },
    kind: 'unavailable',
    delayMs: 2500,
    notCharged: true,
  },
  {
    answer: '429 with Retry-After of a day',
    given: { status: 429, headers: { 'retry-after': '86400' } },
    kind: 'unavailable',
    delayMs: 600_000,
  },
  {
    answer: '503 with Retry-After as a date, by a clock that is an hour slow',
    given: {
      status: 503,
      headers: { 'retry-after': 'Sat, 21 Nov 2020 10:00:30 GMT', date: 'Sat, 21 Nov 2020 10:00:00 GMT' },
    },
    kind: 'unavailable',
    delayMs: 30_000,
  },
  {
    answer: '429 with Retry-After in the past',
    given: { status: 429, headers: { 'retry-after': '-5' } },
    kind: 'unavailable',
  },
  {
    answer: '429 of an empty account',
    given: { status: 429, code: 'insufficient_quota' },
    kind: 'rejected',
    notCharged: true,
  },
  {
    answer: '400',
    given: { status: 400, message: 'bad seed' },
    kind: 'rejected',
    problem: 'bad seed',
    notCharged: true,
  },
  {
    answer: '401',
    given: { status: 401 },
    kind: 'rejected',
    problem: 'check the keyFile of "scripted"',
    notCharged: true,
  },
  {
    answer: '403',
    given: { status: 403 },
    kind: 'rejected',
    problem: 'check the keyFile of "scripted"',
    notCharged: true,
  },
  { answer: '402', given: { status: 402 }, kind: 'rejected', problem: 'add credit', notCharged: true },
  { answer: '404', given: { status: 404 }, kind: 'unknown-model', problem: 'serve this model', notCharged: true },
  { answer: 'a body that is no JSON', given: { raw: '{"choices": [' }, kind: 'unavailable', notCharged: false },
  {
    answer: 'a body without choices',
    given: { raw: '{"choices": []}' },
    kind: 'rejected',
    problem: 'choices',
    notCharged: false,
  },
  { answer: 'a closed connection', given: hangUp, kind: 'unavailable', problem: 'does not answer', notCharged: false },
  { answer: 'an answer that was lost', given: { lost: 'seven' }, kind: 'unavailable', notCharged: false },
])(
  '$answer results in a ModelError of kind $kind after one request',
  async ({ given, kind, problem = '', ...expected }) => {
    server.answerBy(() => given);
    const error = await failure();
    expect(error).toMatchObject({ name: 'ModelError', kind });
    expect(error.message).toContain(`provider "scripted" (${server.url}, model "m")`);
    expect(error.message).toContain(problem);
    expect(error.retryAfterMs).toBe(expected.delayMs);
    if (expected.notCharged !== undefined) expect(error.notCharged).toBe(expected.notCharged);
    expect(server.log).toHaveLength(1);
  },
);

test('a prompt that exceeds the context returns an empty cut-off reply without a charge', async () => {
  server.answerBy(() => ({ status: 400, code: 'context_length_exceeded', message: '9000 tokens' }));
  await expect(chat()).resolves.toEqual({
    reply: { kind: 'cut-off', at: 'context', text: '' },
    usage: { promptTokens: 0, completionTokens: 0, estimated: false },
  });
});

test('a Retry-After date without a Date header is compared with the local clock', async () => {
  server.answerBy(() => ({ status: 429, headers: { 'retry-after': inThreeMinutes() } }));
  const { retryAfterMs } = await failure();
  expect(retryAfterMs).toBeGreaterThan(170_000);
  expect(retryAfterMs).toBeLessThanOrEqual(181_000);
});

test('a refused connection is marked as not charged', async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const url = `http://127.0.0.1:${(probe.address() as AddressInfo).port}/v1`;
  probe.close();
  await once(probe, 'close');
  expect(await failure({ url })).toMatchObject({ name: 'ModelError', kind: 'unavailable', notCharged: true });
});

test("a slow response ends at the call's timeout and may have been charged", async () => {
  server.answerBy(() => silence);
  const error = await failure({ timeoutSeconds: 0.05 });
  expect(error).toMatchObject({ name: 'ModelError', kind: 'unavailable', notCharged: false });
  expect(error.message).toContain('did not answer within 0.05 s');
});

test('an aborted call is rejected with the reason of the abort', async () => {
  server.answerBy(() => silence);
  const controller = new AbortController();
  const waiting = expect(chat({}, controller.signal)).rejects.toThrow('the campaign was cancelled');
  await server.arrived(1);
  controller.abort(new Error('the campaign was cancelled'));
  await waiting;
  while (server.log[0]!.end === 'open') await new Promise(setImmediate);
  expect(server.log[0]).toMatchObject({ end: 'aborted', usage: null });
});

test('a key quoted by the server is removed from the message and the cause', async () => {
  server.answerBy(({ headers }) => ({ status: 401, message: `no such key: ${headers.authorization}` }));
  const error = await failure();
  expect(error.message).toContain('no such key: Bearer <key>');
  expect(JSON.stringify([error, error.cause ?? null, error.stack])).not.toContain('secret-key');
});

test('vectors are returned in the order of the texts for every order of the response', async () => {
  const data = [
    { index: 1, embedding: [0, 1] },
    { index: 0, embedding: [1, 0] },
  ];
  server.answerBy(() => ({ raw: JSON.stringify({ data, usage: { prompt_tokens: 9 } }) }));
  const request = { model: 'e', texts: ['one', 'two'], ...embedding };
  await expect(client().embed(request)).resolves.toEqual({
    vectors: [
      [1, 0],
      [0, 1],
    ],
    usage: { promptTokens: 9, completionTokens: 0, estimated: false },
  });
});

test.each([
  { problem: 'one vector too few', vectors: [[1, 0]] },
  { problem: 'vectors of two lengths', vectors: [[1, 0], [1]] },
  { problem: 'a number above all 32-bit floats', vectors: [[1e300], [1]] },
])('embeddings with $problem are rejected', async ({ vectors }) => {
  server.answerBy(() => ({ vectors }));
  const request = { model: 'e', texts: ['one', 'two'], ...embedding };
  await expect(client().embed(request)).rejects.toMatchObject({ name: 'ModelError', kind: 'rejected' });
});
