import type { Pool } from 'pg';
import { z } from 'zod';
import { ModelError } from '../../src/llm/model-error';
import { createModelService, type ModelService, type ModelRequest } from '../../src/llm/model-service';
import type { Provider } from '../../src/llm/providers';
import { createStore } from '../../src/store';
import { createPool } from '../../src/store/database/pool';
import { hangUp, silence, startScriptedModel, wordVector, type ScriptedModel } from '../support/models/scripted-model';
import { scriptedModels, scriptedProvider, scriptedProviders } from '../support/models/scripted-provider';
import { raiseEpoch } from '../store/support/new-campaign';
import { modelCampaign, type ModelCampaign } from '../store/support/model-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';

let database: FreshDatabase;
let otherPool: Pool; // for a second worker process
let server: ScriptedModel;
beforeAll(async () => {
  database = await freshDatabase();
  otherPool = createPool(database.url);
});
afterAll(async () => {
  await otherPool.end();
  await database.drop();
});
beforeEach(async () => {
  server = await startScriptedModel();
});
afterEach(() => server.stop());

const service = (changes: Partial<Provider> = {}, pool = database.pool): ModelService =>
  createModelService({ store: createStore(pool), providers: scriptedProviders(server.url, changes) });

const campaign = (budget: object = {}) => modelCampaign(database.pool, { budget });

const requestOf = ({ key }: ModelCampaign, callId: string, changes: Partial<ModelRequest> = {}): ModelRequest => ({
  key,
  callId,
  purpose: 'reflector',
  prompt: 'reflection@1',
  seed: 3,
  messages: [{ role: 'user', content: 'How many ships are there, and who counted them?' }],
  signal: new AbortController().signal,
  ...changes,
});

/** Tokens charged by the server, by request id. */
const charged = (): Map<string, number> =>
  new Map(server.log.flatMap(({ id, usage }) => (usage ? [[id!, usage.promptTokens + usage.completionTokens]] : [])));

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, number) => total + number, 0);

const committed = async ({ store, campaignId }: ModelCampaign) => (await store.budgets.get(campaignId)).committed;

/** Simulates a killed worker: its call is aborted, and none of its cost is booked. */
async function cutOff(models: ModelService, c: ModelCampaign, callId: string): Promise<void> {
  const controller = new AbortController();
  const arrived = server.log.length + 1;
  const ended = expect(models.complete(c.spec, requestOf(c, callId, { signal: controller.signal }))).rejects.toThrow(
    'killed',
  );
  await server.arrived(arrived);
  controller.abort(new Error('killed'));
  await ended;
}

describe('model calls', () => {
  test('a repeated call is charged once, also in another worker', async () => {
    const c = await campaign();
    server.answerBy(({ ordinal }) => `answer ${ordinal}`);
    const first = await service().complete(c.spec, requestOf(c, 'reflect/1'));
    expect(first).toEqual({ kind: 'text', text: 'answer 0', callId: 'reflect/1' });
    await expect(service({}, otherPool).complete(c.spec, requestOf(c, 'reflect/1'))).resolves.toEqual(first);
    expect(server.log).toHaveLength(1);
    await expect(committed(c)).resolves.toMatchObject({ llmTokens: sum(charged().values()) });
  });

  test("a call costs the model's price in the spec", async () => {
    const c = await campaign();
    server.answerBy(() => 'seven ships');
    await service().complete(c.spec, requestOf(c, 'reflect/1'));
    const { promptTokens, completionTokens } = server.log[0]!.usage!;
    const usd = (promptTokens * 1 + completionTokens * 10) / 1e6;
    await expect(c.store.modelCalls.listSpending(c.campaignId)).resolves.toMatchObject([
      { purpose: 'reflector', provider: 'scripted', model: 'scripted-chat', calls: 1, usd, estimated: 0 },
    ]);
  });

  test('a call of two workers at the same time has one answer, and the other one is booked as waste', async () => {
    const c = await campaign();
    server.answerBy(async ({ ordinal }) => {
      await server.arrived(2); // both requests have arrived before the first answer
      return `answer number ${'0'.repeat(ordinal * 40)}`;
    });
    const replies = await Promise.all([
      service().complete(c.spec, requestOf(c, 'reflect/1')),
      service({}, otherPool).complete(c.spec, requestOf(c, 'reflect/1')),
    ]);
    expect(replies[0]).toEqual(replies[1]);
    const { rows } = await database.pool.query<{ request: number }>(
      'select request from model_calls where campaign_id = $1 and id = $2',
      [c.campaignId, 'reflect/1'],
    );
    const wasted = [...charged()].filter(([id]) => id !== `${c.name}/reflect/1/${rows[0]!.request}`);
    expect(wasted).toHaveLength(1);
    await expect(c.store.modelCalls.getWaste(c.campaignId)).resolves.toMatchObject({
      confirmed: { calls: 1, tokens: sum(wasted.map(([, tokens]) => tokens)) },
      unconfirmed: { calls: 0 },
    });
    await expect(committed(c)).resolves.toMatchObject({ llmTokens: sum(charged().values()) });
  });

  test('a refusal is a stored reply', async () => {
    const c = await campaign();
    server.answerBy(() => ({ refusal: 'I may not' }));
    for (let i = 0; i < 2; i++)
      await expect(service().complete(c.spec, requestOf(c, 'reflect/1'))).resolves.toEqual({
        kind: 'refused',
        reason: 'I may not',
        callId: 'reflect/1',
      });
    expect(server.log).toHaveLength(1);
  });

  test('a call with a stale epoch of the iteration is rejected', async () => {
    const c = await campaign();
    await raiseEpoch(database.pool, c.key);
    await expect(service().complete(c.spec, requestOf(c, 'reflect/1'))).rejects.toMatchObject({ code: 'StaleEpoch' });
    expect(server.log).toHaveLength(0);
  });

  test('a call to an unknown provider is rejected before the request', async () => {
    const c = await campaign();
    const without = createModelService({ store: c.store, providers: new Map() });
    await expect(without.complete(c.spec, requestOf(c, 'reflect/1'))).rejects.toMatchObject({ code: 'NoProviders' });
  });

  test('a call larger than tokensPerMinute is rejected', async () => {
    const c = await campaign();
    await expect(service({ tokensPerMinute: 50 }).complete(c.spec, requestOf(c, 'reflect/1'))).rejects.toMatchObject({
      name: 'DomainError',
      code: 'CallTooLarge',
      message: expect.stringContaining('scripted.tokensPerMinute'),
    });
  });
});

describe('failed calls', () => {
  test.each([
    { failure: '500', given: { status: 500 } },
    { failure: '429', given: { status: 429, headers: { 'retry-after': '7' } } },
    { failure: '401', given: { status: 401 } },
  ])('a call that failed with $failure costs nothing and can be retried', async ({ given }) => {
    const c = await campaign();
    server.answerBy(({ ordinal }) => (ordinal === 0 ? given : 'seven'));
    await expect(service().complete(c.spec, requestOf(c, 'reflect/1'))).rejects.toBeInstanceOf(ModelError);
    await expect(committed(c)).resolves.toEqual({ llmTokens: 0, usd: 0 });
    await expect(service().complete(c.spec, requestOf(c, 'reflect/1'))).resolves.toMatchObject({ text: 'seven' });
    expect(server.log.map(({ id }) => id)).toEqual([`${c.name}/reflect/1/1`, `${c.name}/reflect/1/2`]);
    await expect(c.store.modelCalls.getWaste(c.campaignId)).resolves.toMatchObject({
      confirmed: { calls: 0 },
      unconfirmed: { calls: 0 },
    });
  });

  test.each([
    { failure: 'a lost answer', given: { lost: 'seven ships, counted by the harbour master' }, paid: 1 },
    { failure: 'a connection that closed', given: hangUp, paid: 0 },
    { failure: 'a body that is no JSON', given: { raw: '{' }, paid: 0 },
    { failure: '504', given: { status: 504 }, paid: 0 },
  ])('a call that failed with $failure keeps its reservation as unconfirmed waste', async ({ given, paid }) => {
    const c = await campaign();
    server.answerBy(({ ordinal }) => (ordinal === 0 ? given : 'seven'));
    await expect(service().complete(c.spec, requestOf(c, 'reflect/1'))).rejects.toMatchObject({ kind: 'unavailable' });
    await service().complete(c.spec, requestOf(c, 'reflect/1'));
    const { unconfirmed } = await c.store.modelCalls.getWaste(c.campaignId);
    const unconfirmedRequests = await c.store.modelCalls.listUnconfirmed(c.campaignId);
    expect(unconfirmedRequests.map(({ requestId }) => requestId)).toEqual([`${c.name}/reflect/1/1`]);
    const chargedRequests = unconfirmedRequests.filter(({ requestId }) => charged().has(requestId));
    expect(chargedRequests).toHaveLength(paid);
    expect(unconfirmed.tokens).toBeGreaterThanOrEqual(
      sum(chargedRequests.map(({ requestId }) => charged().get(requestId)!)),
    );
  });

  test('the circuit breaker stops requests to a provider that fails repeatedly', async () => {
    const c = await campaign();
    const breaker = { failures: 3, coolDownSeconds: 60 };
    server.answerBy(() => ({ status: 500 }));
    const name = `breaks-${c.campaignId}`;
    const spec = {
      ...c.spec,
      llm: {
        ...c.spec.llm!,
        models: { ...c.spec.llm!.models, reflector: { ...c.spec.llm!.models.reflector, provider: name } },
      },
    };
    const all = [scriptedProvider(server.url), scriptedProvider(server.url, { name, breaker })];
    const providers = new Map(all.map((provider) => [provider.name, provider]));
    const models = createModelService({ store: c.store, providers });
    for (let i = 0; i < 3; i++) {
      await expect(models.complete(spec, requestOf(c, 'a'))).rejects.toThrow('status 500');
      // As if it had failed two seconds earlier: failures within one second are one outage.
      const earlier = `update providers set failed_at = failed_at - interval '2 seconds' where name = $1`;
      await database.pool.query(earlier, [name]);
    }
    await expect(models.complete(spec, requestOf(c, 'a'))).rejects.toMatchObject({
      name: 'ModelError',
      kind: 'unavailable',
      retryAfterMs: expect.any(Number),
      message: expect.stringMatching(/failed 3 times in a row: .* for another \d+ s; its last failure: .*status 500/),
    });
    expect(server.log).toHaveLength(3);
    await expect(models.complete(c.spec, requestOf(c, 'b', { purpose: 'judge' }))).rejects.toThrow('status 500'); // another provider
  });
});

test('the unconfirmed waste lists exactly the requests of killed workers', async () => {
  const c = await campaign();
  const calls = Array.from({ length: 10 }, (_, number) => `explore/${number}`);
  // Every second request is computed and charged before the worker is killed; the others have no answer.
  server.answerBy(({ ordinal }) => (ordinal % 2 === 0 ? { text: 'too late', delayMs: 60_000 } : silence));
  for (const callId of calls) await cutOff(service(), c, callId);
  server.answerBy(() => 'seven');
  const later = service({}, otherPool);
  for (const callId of calls) await later.complete(c.spec, requestOf(c, callId));

  const lost = await c.store.modelCalls.listUnconfirmed(c.campaignId);
  expect(lost.map(({ requestId }) => requestId).sort()).toEqual(calls.map((callId) => `${c.name}/${callId}/1`));
  const log = charged();
  const wasted = lost.filter(({ requestId }) => log.has(requestId));
  expect(wasted).toHaveLength(5);
  const stored = calls.map((callId) => log.get(`${c.name}/${callId}/2`)!);
  const { rows } = await database.pool.query<{ settled: number }>(
    `select sum(amount) as settled from ledger where campaign_id = $1 and entry = 'settle' and unit = 'llm-tokens'`,
    [c.campaignId],
  );
  expect(rows[0]!.settled).toBe(sum(stored));
  expect(sum(log.values()) - sum(stored)).toBe(sum(wasted.map(({ requestId }) => log.get(requestId)!)));
  const { unconfirmed, confirmed } = await c.store.modelCalls.getWaste(c.campaignId);
  expect({ unconfirmed: unconfirmed.calls, confirmed: confirmed.calls }).toEqual({ unconfirmed: 10, confirmed: 0 });
  expect((await committed(c)).llmTokens).toBe(sum(stored) + unconfirmed.tokens);
});

describe('budgets', () => {
  const reservation = 100 + 26; // maxTokens, and a third of the 77 bytes of the conversation

  test('a budget is exceeded by at most one window of calls, even if the server exceeds maxTokens', async () => {
    const window = 8;
    const limit = 3000;
    const c = await campaign({ llmTokens: limit });
    server.answerBy(() => ({ text: 'x'.repeat(4 * 300), finishReason: 'stop' })); // three times maxTokens
    const models = [service({ concurrency: window / 2 }), service({ concurrency: window / 2 }, otherPool)];
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, (_, number) =>
        models[number % 2]!.complete(c.spec, requestOf(c, `explore/${number}`)),
      ),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(new Set(refused.map(({ reason }) => (reason as { code: string }).code))).toEqual(new Set(['BudgetReached']));
    const total = sum(charged().values());
    const largest = Math.max(...charged().values());
    expect(total).toBe((await committed(c)).llmTokens);
    expect(total).toBeGreaterThan(limit - window * reservation);
    expect(total).toBeLessThanOrEqual(limit + window * (largest - reservation));
  });

  test('a budget is used up but not exceeded if the server respects maxTokens', async () => {
    const limit = 1000;
    const c = await campaign({ llmTokens: limit });
    server.answerBy(() => ({ text: 'seven', delayMs: 5 }));
    const models = [service({ concurrency: 8 }), service({ concurrency: 8 }, otherPool)];
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (_, number) =>
        models[number % 2]!.complete(c.spec, requestOf(c, `explore/${number}`)),
      ),
    );
    expect(results.some(({ status }) => status === 'rejected')).toBe(true);
    const total = sum(charged().values());
    expect(total).toBeLessThanOrEqual(limit);
    expect(total).toBeGreaterThan(limit - reservation); // it stopped when no further call would fit
  });

  test('the same calls continue after the budget is raised', async () => {
    const c = await campaign({ llmTokens: 200 });
    const complete = async (): Promise<number> => {
      const all = Array.from({ length: 20 }, (_, number) =>
        service().complete(c.spec, requestOf(c, `explore/${number}`)),
      );
      return (await Promise.allSettled(all)).filter(({ status }) => status === 'fulfilled').length;
    };
    const before = await complete();
    expect(before).toBeLessThan(20);
    await c.store.budgets.raise(c.campaignId, { llmTokens: 10_000, actor: 'ada', requestId: 'r' });
    expect(await complete()).toBe(20);
    expect(server.log).toHaveLength(20);
  });
});

describe('structured answers', () => {
  const schema = z.object({ ships: z.number().int(), by: z.string() });
  const complete = (c: ModelCampaign) => service().completeStructured(c.spec, requestOf(c, 'reflect/1'), schema);

  test('a JSON answer that matches the schema is returned as a value', async () => {
    const c = await campaign();
    server.answerBy(() => 'Here you are:\n```json\n{"ships": 7, "by": "Ada"}\n```');
    await expect(complete(c)).resolves.toEqual({ ok: true, value: { ships: 7, by: 'Ada' }, callId: 'reflect/1' });
  });

  test('a malformed answer is repaired once by a call that quotes the mistakes', async () => {
    const c = await campaign();
    server.answerBy(({ ordinal }) => (ordinal === 0 ? '{"ships": "many"}' : '{"ships": 7, "by": "Ada"}'));
    const repaired = { ok: true, value: { ships: 7, by: 'Ada' }, callId: 'reflect/1/repair' };
    await expect(complete(c)).resolves.toEqual(repaired);
    await expect(complete(c)).resolves.toEqual(repaired);
    expect(server.log).toHaveLength(2);
    const [request, answer, repair] = server.log[1]!.messages;
    expect(request).toEqual(requestOf(c, '').messages[0]);
    expect(answer).toEqual({ role: 'assistant', content: '{"ships": "many"}' });
    expect(repair!.content).toContain('- ships: found "many", expected a number\n- by: found nothing, expected a text');
    const { rows } = await database.pool.query(
      'select id, prompt from model_calls where campaign_id = $1 order by id',
      [c.campaignId],
    );
    expect(rows).toEqual([
      { id: 'reflect/1', prompt: 'reflection@1' },
      { id: 'reflect/1/repair', prompt: 'reflection@1+repair@1' },
    ]);
  });

  test('an answer that is still malformed after the repair returns a failure', async () => {
    const c = await campaign();
    server.answerBy(() => ({ text: '' }));
    await expect(complete(c)).resolves.toEqual({
      ok: false,
      failure: 'malformed',
      detail: 'found no JSON object, expected one',
      callId: 'reflect/1/repair',
    });
    expect(server.log).toHaveLength(2);
  });

  test.each([
    { failure: 'refused', given: { refusal: 'I may not' } as const },
    { failure: 'cut-off', given: { status: 400, code: 'context_length_exceeded' } },
  ])('a $failure answer that a second request would repeat returns a failure after one call', async (expected) => {
    const c = await campaign();
    server.answerBy(() => expected.given);
    await expect(complete(c)).resolves.toMatchObject({ ok: false, failure: expected.failure, callId: 'reflect/1' });
    expect(server.log).toHaveLength(1);
  });

  test.each([
    { structured: 'none', format: undefined },
    { structured: 'object', format: { type: 'json_object' } },
    {
      structured: 'schema',
      format: {
        type: 'json_schema',
        json_schema: {
          name: 'reflection',
          strict: true,
          schema: {
            type: 'object',
            additionalProperties: false,
            required: ['ships', 'by'],
            properties: { ships: expect.objectContaining({ type: 'integer' }), by: { type: 'string' } },
          },
        },
      },
    },
  ])('with structured $structured the server is asked for JSON in that form', async ({ structured, format }) => {
    const explorer = { ...scriptedModels.models.explorer, structured };
    const c = await modelCampaign(database.pool, { llm: { models: { explorer } } });
    server.answerBy(() => '{"ships": 7, "by": "Ada"}');
    await expect(complete(c)).resolves.toMatchObject({ ok: true });
    await service().complete(c.spec, requestOf(c, 'explore/1'));
    expect(server.log.map(({ body }) => body['response_format'])).toEqual([format, undefined]);
  });
});

describe('answers that were cut off', () => {
  const schema = z.object({ ships: z.number().int(), by: z.string() });
  const complete = (c: ModelCampaign) => service().completeStructured(c.spec, requestOf(c, 'reflect/1'), schema);
  const thinking = { text: '<think>Ships may be', finishReason: 'length' } as const;
  const partial = { text: '{"ships": 7, "b', finishReason: 'length' } as const;
  const reasoning = (changes: object = {}) => {
    const explorer = { ...scriptedModels.models.explorer, thinkingTokens: 900, reasoningEffort: 'high', ...changes };
    return modelCampaign(database.pool, { llm: { models: { explorer } } });
  };

  test.each([
    { cut: 'in its thinking', given: thinking, quoted: '(nothing)' },
    { cut: 'in its JSON', given: partial, quoted: partial.text },
  ])('an answer that was cut off $cut is requested once more in short, and each call is paid once', async (tried) => {
    const c = await reasoning();
    server.answerBy(({ ordinal }) => (ordinal === 0 ? tried.given : '{"ships": 7, "by": "Ada"}'));
    const value = { ok: true, value: { ships: 7, by: 'Ada' }, callId: 'reflect/1/shorten' };
    await expect(complete(c)).resolves.toEqual(value);
    await expect(complete(c)).resolves.toEqual(value);
    expect(server.log.map(({ id, body }) => [id, body['max_tokens'], body['reasoning_effort']])).toEqual([
      [`${c.name}/reflect/1/1`, 1000, 'high'],
      [`${c.name}/reflect/1/shorten/1`, 1000, 'low'],
    ]);
    const [, answer, request] = server.log[1]!.messages;
    expect(answer).toEqual({ role: 'assistant', content: tried.quoted });
    expect(request!.content).toContain('reached the limit of its length');
    expect((await committed(c)).llmTokens).toBe(sum(charged().values()));
  });

  test.each([
    { second: 'cut off', given: partial, failure: 'cut-off' },
    { second: 'malformed', given: { text: '{}' }, failure: 'malformed' },
  ])('a second answer that is $second is a failure', async ({ given, failure }) => {
    const c = await reasoning();
    server.answerBy(({ ordinal }) => (ordinal === 0 ? thinking : given));
    await expect(complete(c)).resolves.toMatchObject({ ok: false, failure, callId: 'reflect/1/shorten' });
    expect(server.log).toHaveLength(2);
  });

  test('a free answer that was cut off is requested once more, also after a crash between the calls', async () => {
    const c = await reasoning();
    server.answerBy(({ ordinal }) => (ordinal === 0 ? thinking : silence));
    await cutOffSecond(c);
    server.answerBy(() => 'seven');
    const reply = { kind: 'text', text: 'seven', callId: 'explore/1/shorten' };
    await expect(service({}, otherPool).complete(c.spec, requestOf(c, 'explore/1'))).resolves.toEqual(reply);
    expect(server.log.map(({ id, end }) => [id, end])).toEqual([
      [`${c.name}/explore/1/1`, 'answered'],
      [`${c.name}/explore/1/shorten/1`, 'aborted'],
      [`${c.name}/explore/1/shorten/2`, 'answered'],
    ]);
  });

  async function cutOffSecond(c: ModelCampaign): Promise<void> {
    const controller = new AbortController();
    const request = requestOf(c, 'explore/1', { signal: controller.signal });
    const ended = expect(service().complete(c.spec, request)).rejects.toThrow('killed');
    await server.arrived(2);
    controller.abort(new Error('killed'));
    await ended;
  }

  test('a second request reserves its largest cost before it is sent', async () => {
    const prompt = 26; // a third of the 77 bytes of the conversation
    const explorer = scriptedModels.models.explorer;
    const c = await modelCampaign(database.pool, {
      budget: { llmTokens: 100 + prompt },
      llm: { models: { explorer } },
    });
    server.answerBy(() => ({ text: 'x'.repeat(400), finishReason: 'length' }));
    await expect(service().complete(c.spec, requestOf(c, 'explore/1'))).rejects.toMatchObject({
      code: 'BudgetReached',
    });
    expect(server.log).toHaveLength(1);
  });
});

describe('embeddings', () => {
  const embed = (c: ModelCampaign, texts: string[], models = service()) =>
    models.embed(c.spec, { key: c.key, callId: 'embed/1', texts, signal: new AbortController().signal });

  test('embeddings are requested in batches, returned as unit vectors in order, and charged once', async () => {
    const c = await campaign();
    const texts = Array.from({ length: 130 }, (_, number) => `count the ships of harbour ${number}`);
    const vectors = await embed(c, texts);
    expect(server.log.map(({ id, input }) => [id, input.length])).toEqual([
      [`${c.name}/embed/1/0/1`, 64],
      [`${c.name}/embed/1/1/1`, 64],
      [`${c.name}/embed/1/2/1`, 2],
    ]);
    texts.forEach((text, row) => {
      const raw = wordVector(text);
      const length = Math.hypot(...raw);
      vectors![row]!.forEach((value, column) => expect(value).toBeCloseTo(raw[column]! / length, 6));
    });
    await expect(embed(c, texts, service({}, otherPool))).resolves.toEqual(vectors);
    expect(server.log).toHaveLength(3);
    await expect(c.store.modelCalls.listSpending(c.campaignId)).resolves.toMatchObject([
      { purpose: 'embedding', model: 'scripted-embedding', calls: 3, tokens: sum(charged().values()) },
    ]);
  });

  test('an empty list of texts needs no request', async () => {
    const c = await campaign();
    await expect(embed(c, [])).resolves.toEqual([]);
    expect(server.log).toHaveLength(0);
  });

  test('an empty text is sent as a space, which servers accept', async () => {
    const c = await campaign();
    await embed(c, ['', ' \n ']);
    expect(server.log[0]!.input).toEqual([' ', ' ']);
  });

  test.each([
    { spec: 'has no embedding model', llm: { models: { ...scriptedModels.models, embedding: null } } },
    { spec: 'has no models', llm: null },
  ])('embeddings are null if the spec $spec', async ({ llm }) => {
    const c = await modelCampaign(database.pool, { llm });
    await expect(embed(c, ['a'])).resolves.toBeNull();
  });
});
