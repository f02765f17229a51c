import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { policyClient, type SampleRequest } from '../../src/llm/policy-client';
import { startScriptedServer, type Answer, type ScriptedServer } from '../support/scripted-server';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.stop());

const request = (changes: Partial<SampleRequest> = {}): SampleRequest => ({
  policyId: 'a'.repeat(64),
  messages: [{ role: 'user', content: 'How many?' }],
  seed: 7,
  temperature: 0.9,
  maxTokens: 64,
  signal: new AbortController().signal,
  ...changes,
});

const completion = {
  model: 'a'.repeat(64),
  prompt_token_ids: [1, 2, 3],
  choices: [
    {
      message: { role: 'assistant', content: 'select 1' },
      finish_reason: 'stop',
      token_ids: [4, 5],
      logprobs: { content: [{ logprob: -0.5 }, { logprob: -0.25 }] },
    },
  ],
};
const choice = completion.choices[0]!;

const errorOf = (code: string | null, message = 'no') => ({ error: { message, type: 'error', code } });

const sample = (changes: Partial<SampleRequest> = {}) =>
  policyClient({ url: server.url, token: 'secret' }).sample(request(changes));

test('an answer contains the sampled text, token ids and log-probabilities', async () => {
  server.answerWith({ body: completion });
  await expect(sample()).resolves.toEqual({
    content: 'select 1',
    finishReason: 'stop',
    promptTokenIds: [1, 2, 3],
    tokenIds: [4, 5],
    logprobs: [-0.5, -0.25],
  });
});

test('a request contains the policy hash, the seed and the option for token ids', async () => {
  server.answerWith({ body: completion });
  await sample();
  expect(server.requests).toEqual([
    {
      method: 'POST',
      path: '/v1/chat/completions',
      authorization: 'Bearer secret',
      body: {
        model: 'a'.repeat(64),
        messages: [{ role: 'user', content: 'How many?' }],
        seed: 7,
        temperature: 0.9,
        max_tokens: 64,
        logprobs: true,
        return_token_ids: true,
      },
    },
  ]);
});

test('an answer without text results in an empty action', async () => {
  const empty = { ...choice, message: { content: null }, token_ids: [], logprobs: null };
  server.answerWith({ body: { ...completion, choices: [empty] } });
  await expect(sample()).resolves.toMatchObject({ content: '', tokenIds: [], logprobs: [] });
});

test.each([
  ['reasoning_content', { content: '\n\nls()', reasoning_content: 'Which?' }, '<think>Which?</think>\n\nls()'],
  ['reasoning', { content: 'ls()', reasoning: 'Which?' }, '<think>Which?</think>ls()'],
  ['reasoning alone, cut off', { content: null, reasoning: 'Whi' }, '<think>Whi'],
  ['no reasoning', { content: 'ls()', reasoning_content: null, reasoning: '' }, 'ls()'],
])('thinking that the server separates as %s stays in the action', async (_, message, content) => {
  server.answerWith({ body: { ...completion, choices: [{ ...choice, message }] } });
  await expect(sample()).resolves.toMatchObject({ content, tokenIds: [4, 5] });
});

const sampled = (changes: object) => ({ ...completion, choices: [{ ...choice, ...changes }] });
const scored = (...values: unknown[]) => sampled({ logprobs: { content: values.map((logprob) => ({ logprob })) } });

test.each([
  ['no log-probabilities', sampled({ logprobs: null })],
  ['log-probabilities without content', sampled({ logprobs: { content: null } })],
  ['one log-probability too few', scored(-0.5)],
  ['one log-probability too many', scored(-0.5, -0.5, -0.5)],
  ['a log-probability above 0', scored(-0.5, 3)],
  ['a log-probability below all 32-bit floats', scored(-0.5, -1e300)],
  ['a log-probability that no sampler draws', scored(-0.5, -3e38)],
  ['a log-probability that is null', scored(-0.5, null)],
  ['a negative token id', sampled({ token_ids: [4, -5] })],
  ['a token id with a fraction', sampled({ token_ids: [4, 5.5] })],
  ['a token id of 2^31', { ...completion, prompt_token_ids: [2 ** 31] }],
  ['a token id that is a text', { ...completion, prompt_token_ids: ['1'] }],
  ['no prompt token', { ...completion, prompt_token_ids: [] }],
  ['a text without token ids', sampled({ token_ids: [], logprobs: { content: [] } })],
  ['thinking without token ids', sampled({ message: { content: '', reasoning: 'Hm' }, token_ids: [], logprobs: null })],
])('an answer with %s is a fault of the server and is retried', async (_, body) => {
  server.answerWith({ body });
  await expect(sample()).rejects.toMatchObject({
    name: 'ModelError',
    kind: 'unavailable',
    retryable: true,
    message: expect.stringMatching(/returned .*expected/),
  });
});

describe('with the size of the vocabulary', () => {
  const withSize = (size: number | undefined) => {
    const client = policyClient({ url: server.url, vocabularyOf: async () => size });
    return client.sample(request());
  };

  test.each([
    ['a sampled id', sampled({ token_ids: [4, 768] })],
    ['an id of the prompt', { ...completion, prompt_token_ids: [1, 100_000] }],
  ])('%s beyond it is a fault of the server and is retried', async (_, body) => {
    server.answerWith({ body });
    await expect(withSize(768)).rejects.toMatchObject({
      name: 'ModelError',
      kind: 'unavailable',
      retryable: true,
      message: expect.stringMatching(/returned the token id (768|100000), expected a whole number from 0 below 768/),
    });
  });

  test('its last id is valid, and an unknown size limits no id', async () => {
    server.answerWith({ body: sampled({ token_ids: [4, 767] }) });
    await expect(withSize(768)).resolves.toMatchObject({ tokenIds: [4, 767] });
    server.answerWith({ body: sampled({ token_ids: [4, 100_000] }) });
    await expect(withSize(undefined)).resolves.toMatchObject({ tokenIds: [4, 100_000] });
  });

  test('an action that is only the end token is valid', async () => {
    const message = { content: '' };
    server.answerWith({ body: sampled({ message, token_ids: [2], logprobs: { content: [{ logprob: -1 }] } }) });
    await expect(withSize(768)).resolves.toMatchObject({ content: '', tokenIds: [2] });
  });

  test('a probe with an id beyond it is a permanent error that names the id', async () => {
    server.answerWith({ body: { ...sampled({ token_ids: [9_999], logprobs: { content: [{ logprob: -1 }] } }) } });
    const client = policyClient({ url: server.url, vocabularyOf: async () => 768 });
    await expect(client.load('a'.repeat(64), '/p')).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('the token id 9999, expected a whole number'),
    });
  });
});

test('a log-probability below the precision of its column is stored as 0', async () => {
  server.answerWith({ body: scored(-1e-300, -0.1) });
  const { logprobs } = await sample();
  expect(logprobs.map(String)).toEqual(['0', String(Math.fround(-0.1))]);
});

type Refusal = { answer: string; given: Answer; kind: string; retryAfterMs?: number; problem?: string };
const refusals: Refusal[] = [
  { answer: '500', given: { status: 500, body: errorOf('internal') }, kind: 'unavailable' },
  { answer: '502 in HTML', given: { status: 502, body: '<html>bad gateway</html>' }, kind: 'unavailable' },
  { answer: '503', given: { status: 503, body: errorOf(null) }, kind: 'unavailable' },
  { answer: '408', given: { status: 408, body: errorOf(null) }, kind: 'unavailable' },
  { answer: '409', given: { status: 409, body: errorOf(null) }, kind: 'unavailable' },
  { answer: '429', given: { status: 429, body: errorOf(null) }, kind: 'unavailable' },
  {
    answer: '429 with Retry-After',
    given: { status: 429, headers: { 'retry-after': '3' }, body: errorOf('rate_limit') },
    kind: 'unavailable',
    retryAfterMs: 3000,
  },
  {
    answer: '429 with a Retry-After of a day',
    given: { status: 429, headers: { 'retry-after': '86400' }, body: errorOf('rate_limit') },
    kind: 'unavailable',
    retryAfterMs: 600_000,
  },
  {
    answer: '503 with a Retry-After that is no number',
    given: { status: 503, headers: { 'retry-after': 'soon' }, body: errorOf(null) },
    kind: 'unavailable',
  },
  {
    answer: '404 for an unknown model',
    given: { status: 404, body: errorOf('model_not_found') },
    kind: 'unknown-model',
  },
  {
    answer: '400 for a prompt that is too long',
    given: { status: 400, body: errorOf('context_length_exceeded', '600 tokens, at most 512') },
    kind: 'context-full',
    problem: '600 tokens, at most 512',
  },
  {
    answer: "400 in vLLM's words for a prompt that is too long",
    given: {
      status: 400,
      body: { error: { message: `This model's maximum context length is 512 tokens`, code: 400 } },
    },
    kind: 'context-full',
    problem: 'maximum context length',
  },
  {
    answer: 'the answer of another policy',
    given: { body: { ...completion, model: 'b' } },
    kind: 'rejected',
    problem: `answered as b, expected policy ${'a'.repeat(64)}`,
  },
  {
    answer: '400',
    given: { status: 400, body: errorOf('unsupported', 'n must be 1') },
    kind: 'rejected',
    problem: 'n must be 1',
  },
  { answer: '401', given: { status: 401, body: errorOf('invalid_api_key') }, kind: 'rejected' },
  { answer: '422', given: { status: 422, body: errorOf(null) }, kind: 'rejected' },
  {
    answer: 'a body that is cut off',
    given: { body: '{"choices": [' },
    kind: 'unavailable',
    problem: 'incomplete answer',
  },
  {
    answer: 'a connection that breaks in the middle of the body',
    given: { headers: { 'content-length': '9999' }, body: '{' },
    kind: 'unavailable',
    problem: 'incomplete answer',
  },
  { answer: 'no choice', given: { body: { ...completion, choices: [] } }, kind: 'rejected', problem: 'choices' },
  { answer: 'no body', given: { body: 'null' }, kind: 'rejected', problem: 'dialect' },
  {
    answer: 'no prompt token ids',
    given: { body: { choices: completion.choices } },
    kind: 'rejected',
    problem: 'prompt_token_ids',
  },
  {
    answer: 'no token ids',
    given: { body: { ...completion, choices: [{ ...choice, token_ids: undefined }] } },
    kind: 'rejected',
    problem: 'choices.0.token_ids',
  },
];

test.each(refusals)('the answer "$answer" results in a ModelError of kind $kind after one request', async (refusal) => {
  server.answerWith(refusal.given);
  const error: unknown = await sample().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'ModelError', kind: refusal.kind });
  expect((error as { retryAfterMs?: number }).retryAfterMs).toBe(refusal.retryAfterMs);
  expect((error as Error).message).toContain(server.url);
  expect((error as Error).message).toContain(refusal.problem ?? '');
  expect(server.requests).toHaveLength(1);
});

test('a connection closed before the answer is a retryable error', async () => {
  server.answerWith('hang-up');
  await expect(sample()).rejects.toMatchObject({ name: 'ModelError', kind: 'unavailable' });
  expect(server.requests).toHaveLength(1);
});

test('a refused connection is a retryable error, and the message contains the next command', async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const url = `http://127.0.0.1:${(probe.address() as AddressInfo).port}`;
  probe.close();
  await once(probe, 'close');
  await expect(policyClient({ url }).sample(request())).rejects.toMatchObject({
    name: 'ModelError',
    kind: 'unavailable',
    message: `no policy server answers at ${url}; start one with \`coevolve up\``,
  });
});

test('a server that does not answer in time is named as slow, not as absent', async () => {
  server.answerWith('nothing');
  await expect(policyClient({ url: server.url }, 200).sample(request())).rejects.toMatchObject({
    name: 'ModelError',
    kind: 'unavailable',
    message: expect.stringMatching(/^the policy server at \S+ did not answer within 0.2 s: prompts are too long/),
  });
});

test('an aborted request is rejected with the reason of the abort', async () => {
  server.answerWith('nothing');
  const controller = new AbortController();
  const waiting = expect(sample({ signal: controller.signal })).rejects.toThrow('the campaign was cancelled');
  while (server.requests.length === 0) await sleep(5);
  controller.abort(new Error('the campaign was cancelled'));
  await waiting;
});

describe('policies', () => {
  const client = () => policyClient({ url: server.url });

  const oneToken = {
    model: 'hash',
    prompt_token_ids: [1],
    choices: [{ ...choice, token_ids: [4], logprobs: { content: [{ logprob: -0.5 }] } }],
  };

  test('a policy is loaded under its hash, probed with one token, and unloaded', async () => {
    server.answerWith({ body: oneToken });
    await client().load('hash', '/policies/hash');
    await client().unload('hash');
    expect(server.requests).toMatchObject([
      { path: '/v1/load_lora_adapter', body: { lora_name: 'hash', lora_path: '/policies/hash' } },
      { path: '/v1/chat/completions', body: { model: 'hash', max_tokens: 1, logprobs: true } },
      { path: '/v1/unload_lora_adapter', body: { lora_name: 'hash' } },
    ]);
  });

  test('concurrent loads of a policy share one request', async () => {
    server.answerWith({ body: oneToken });
    const one = client();
    await Promise.all([one.load('hash', '/p'), one.load('hash', '/p'), one.load('hash', '/p')]);
    expect(server.requests).toHaveLength(2);
    await one.load('hash', '/p');
    expect(server.requests).toHaveLength(4);
  });

  test.each([
    ['another name', { ...oneToken, model: 'other' }, 'answered as other, expected policy hash'],
    ['no name', { ...oneToken, model: undefined }, 'answered as no model, expected policy hash'],
    ['no log-probability', { ...oneToken, choices: [{ ...choice, token_ids: [4], logprobs: null }] }, '[]'],
    ['two tokens for one', { ...completion, model: 'hash' }, 'token ids [4, 5]'],
    ['no token ids', { ...oneToken, choices: [{ message: choice.message, finish_reason: 'stop' }] }, 'token_ids'],
  ])('a policy whose probe returns %s is unloaded', async (_, body, problem) => {
    server.answerWith({ body });
    await expect(client().load('hash', '/p')).rejects.toMatchObject({
      name: 'ModelError',
      kind: 'rejected',
      message: expect.stringContaining(problem),
    });
    expect(server.requests.at(-1)).toMatchObject({ path: '/v1/unload_lora_adapter', body: { lora_name: 'hash' } });
  });

  test('unload succeeds for a policy that is not served', async () => {
    server.answerWith({ status: 404, body: errorOf('model_not_found') });
    await client().unload('hash');
  });

  test('a failed load is a permanent error', async () => {
    server.answerWith({ status: 400, body: errorOf('invalid_policy', 'its hash differs') });
    await expect(client().load('hash', '/x')).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('its hash differs'),
    });
  });

  test('a load on a server without that route is a permanent error', async () => {
    server.answerWith({ status: 404, body: { detail: 'Not Found' } });
    await expect(client().load('hash', '/x')).rejects.toMatchObject({ name: 'ModelError', kind: 'rejected' });
  });

  test('a policy that is unloaded between its load and its probe is a retryable error', async () => {
    const unknown = { status: 404, body: errorOf('model_not_found') };
    server.answerWith((path) => (path === '/v1/chat/completions' ? unknown : {}));
    await expect(client().load('hash', '/p')).rejects.toMatchObject({
      kind: 'unavailable',
      retryable: true,
      message: expect.stringContaining('right after its load'),
    });
  });

  test('the client lists the names of the served policies', async () => {
    server.answerWith({ body: { object: 'list', data: [{ id: 'one' }, { id: 'two' }] } });
    await expect(client().served()).resolves.toEqual(['one', 'two']);
  });
});
