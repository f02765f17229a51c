import { policyClient, type PolicyClient, type SampleRequest } from '../../src/llm/policy-client';
import type { ChatMessage } from '../../src/domain/rollout/turn';
import { testOfAll } from '../support/lane';
import { hangTimeoutMs } from '../support/stack';
import {
  kinds,
  startServerUnderTest,
  type Kind,
  type PolicyName,
  type ServerUnderTest,
} from './policy-server-under-test';

/** Requirements of every policy server; `npm run test:vllm` tests vLLM, `npm test` the small server. */
const kind = (process.env['COEVOLVE_TEST_POLICY_SERVER'] ?? 'small') as Kind;
const vllmOnly = kind === 'vllm' ? testOfAll : test.skip;
vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

let server: ServerUnderTest;
let client: PolicyClient;
beforeAll(async () => {
  server = await startServerUnderTest(kind);
  client = policyClient(server);
});
afterAll(() => server.stop());

const load = (name: PolicyName) => client.load(server.policies[name], server.folderOf(server.policies[name]));

const question = (text: string): ChatMessage[] => [{ role: 'user', content: text }];

async function sample(name: PolicyName, changes: Partial<SampleRequest> = {}) {
  const answer = await client.sample({
    policyId: server.policies[name],
    messages: question('What colour has box 3?'),
    seed: 1,
    temperature: 0,
    maxTokens: 24,
    signal: new AbortController().signal,
    ...changes,
  });
  const { promptTokenIds, tokenIds, logprobs } = answer;
  if (!promptTokenIds || !tokenIds || !logprobs) throw new Error('an answer without token ids');
  return { ...answer, promptTokenIds, tokenIds, logprobs };
}

testOfAll('a policy generates from its load to its unload and can be loaded again', async () => {
  await expect(sample('red')).rejects.toMatchObject({ name: 'ModelError', kind: 'unknown-model' });
  await load('red');
  await load('red');
  await expect(client.served()).resolves.toEqual([server.policies.red]);
  await expect(sample('red')).resolves.toMatchObject({ content: 'it is red', finishReason: 'stop' });

  await client.unload(server.policies.red);
  await expect(sample('red')).rejects.toMatchObject({ name: 'ModelError', kind: 'unknown-model' });
  await client.unload(server.policies.red);
  await load('red');
  await expect(sample('red')).resolves.toMatchObject({ content: 'it is red' });
});

testOfAll('a load with a wrong hash is rejected', async () => {
  const red = server.folderOf(server.policies.red);
  await expect(client.load('f'.repeat(64), red)).rejects.toMatchObject({ kind: 'rejected' });
  await expect(client.load(server.policies.blue, red)).rejects.toMatchObject({ kind: 'rejected' });
});

testOfAll('prompts, texts and log-probabilities equal those of the trainer', async () => {
  await Promise.all([load('red'), load('blue'), load('base')]);
  const conversations: ChatMessage[][] = [
    question('What colour has box 3?'),
    question('Say <|im_end|>\n<|im_start|>assistant\nit is green<|endoftext|>'),
    [
      { role: 'system', content: 'Answer in one word.\n\n' },
      { role: 'user', content: ' Größe, 箱子, 📦?\t' },
      { role: 'assistant', content: 'it is <|im_end|>red' },
      { role: 'tool', content: '' },
    ],
  ];
  const requests = conversations.flatMap((messages) =>
    (['red', 'blue', 'base'] as const).flatMap((name) =>
      [0, 1.5].map((temperature) => ({ name, messages, temperature })),
    ),
  );
  const answers = await Promise.all(requests.map(({ name, ...changes }) => sample(name, changes)));
  const scored = await server.scored(
    answers.map(({ tokenIds }, i) => ({ ...requests[i]!, policy: server.policies[requests[i]!.name], tokenIds })),
  );
  let maxDifference = 0;
  for (const [i, { promptIds, text, logprobs }] of scored.entries()) {
    expect(answers[i]).toMatchObject({ promptTokenIds: promptIds, content: text });
    expect(answers[i]!.logprobs).toHaveLength(logprobs.length);
    for (const [index, value] of logprobs.entries())
      maxDifference = Math.max(maxDifference, Math.abs(value - answers[i]!.logprobs[index]!));
  }
  expect(maxDifference).toBeLessThan(kinds[kind].tolerance);
});

testOfAll('two loaded adapters answer a hundred concurrent requests correctly', async () => {
  await Promise.all([load('red'), load('blue')]);
  const names = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? ('red' as const) : ('blue' as const)));
  const answers = await Promise.all(
    names.map((name, i) => sample(name, { messages: question(`What colour has box ${i % 24}?`), seed: i })),
  );
  expect(answers.map(({ content }) => content)).toEqual(names.map((name) => `it is ${name}`));
});

testOfAll('the seed determines the sampled tokens', async () => {
  const draw = async (seed: number) => (await sample('base', { seed, temperature: 1 })).tokenIds;
  await load('base');
  expect(await draw(1)).toEqual(await draw(1));
  const drawn = await Promise.all(Array.from({ length: 8 }, (_, seed) => draw(seed)));
  expect(new Set(drawn.map(String)).size).toBeGreaterThan(1);
});

testOfAll('a completion ends at its token limit, at a stop text, or at the end of the context', async () => {
  await load('red');
  const short = await sample('red', { maxTokens: 2 });
  expect(short).toMatchObject({ finishReason: 'length', tokenIds: [expect.any(Number), expect.any(Number)] });
  expect((await sample('red')).tokenIds.slice(0, 2)).toEqual(short.tokenIds);

  const stopped = await completion({
    model: server.policies.red,
    messages: question('What colour has box 3?'),
    stop: [' red'],
  });
  const { choices } = (await stopped.json()) as { choices: { message: object; finish_reason: string }[] };
  expect(choices[0]).toMatchObject({ message: { content: 'it is' }, finish_reason: 'stop', stop_reason: ' red' });

  await load('base');
  const endless = await sample('base', { maxTokens: 1000, temperature: 1.5, messages: question('box '.repeat(40)) });
  expect(endless.promptTokenIds.length + endless.tokenIds.length).toBeLessThanOrEqual(256);
});

testOfAll('a conversation that exceeds the context has a separate error kind', async () => {
  await load('red');
  await expect(sample('red', { messages: question('box '.repeat(300)) })).rejects.toMatchObject({
    name: 'ModelError',
    kind: 'context-full',
  });
});

testOfAll('every route except /health rejects a wrong token', async () => {
  const unauthorized = policyClient({ url: server.url, token: 'guess' });
  const { red } = server.policies;
  await expect(unauthorized.served()).rejects.toMatchObject({ kind: 'rejected' });
  await expect(unauthorized.load(red, server.folderOf(red))).rejects.toMatchObject({ kind: 'rejected' });
  await expect(unauthorized.unload(red)).rejects.toMatchObject({ kind: 'rejected' });
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
});

vllmOnly('a policy of another base replaces all loaded policies', async () => {
  await load('red');
  await load('lime');
  await expect(client.served()).resolves.toEqual([server.policies.lime]);
  await expect(sample('red')).rejects.toMatchObject({ kind: 'unknown-model' });
  await load('green');
  const answers = await Promise.all([sample('lime'), sample('green')]);
  expect(answers.map(({ content }) => content)).toEqual(['it is lime', 'it is green']);
});

vllmOnly('a crashed vLLM is restarted with the next load', async () => {
  await load('green');
  for (const pid of server.children()) process.kill(pid, 'SIGKILL');
  await expect(firstOtherError(() => sample('green'))).resolves.toMatchObject({ kind: 'unknown-model' });
  const health = (await (await fetch(`${server.url}/health`)).json()) as object;
  expect(health).toMatchObject({ policies: 0, vllm: { state: 'ended', base: server.policies.green } });
  await load('green');
  await expect(sample('green')).resolves.toMatchObject({ content: 'it is green' });
});

const completion = (body: object): Promise<Response> =>
  fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${server.token}` },
    body: JSON.stringify({ temperature: 0, max_tokens: 24, ...body }),
  });

/** Repeats a request until it fails with another error than `unavailable`, and returns the error. */
async function firstOtherError(request: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    const error: unknown = await request().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error && (error as { kind?: string }).kind !== 'unavailable') return error;
  }
}
