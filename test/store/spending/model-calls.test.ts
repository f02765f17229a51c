import * as fc from 'fast-check';
import type { Spending } from '../../../src/store/spending/budgets';
import { createPool } from '../../../src/store/database/pool';
import { createStore } from '../../../src/store';
import { runsAll } from '../../support/lane';
import { freshDatabase, type FreshDatabase } from '../../support/database';
import { modelCall, modelCampaign, settlement, type ModelCampaign } from '../support/model-campaign';
import { raiseEpoch } from '../support/new-campaign';

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const campaign = (budget: object = {}) => modelCampaign(database.pool, { budget });

const estimate: Spending = { llmTokens: 100, usd: 0.01 };

const reserved = { kind: 'reserved', request: 1 };

const committed = async ({ store, campaignId }: ModelCampaign) => (await store.budgets.get(campaignId)).committed;

test('a reservation is committed; its settlement replaces it and releases the rest', async () => {
  const c = await campaign();
  const call = modelCall(c.key, 'reflect/1');
  await expect(c.store.modelCalls.reserve(call, estimate)).resolves.toEqual(reserved);
  await expect(committed(c)).resolves.toEqual(estimate);
  await c.store.modelCalls.settle(call, 1, settlement());
  await expect(committed(c)).resolves.toEqual({ llmTokens: 15, usd: expect.closeTo(0.001, 12) });
  await expect(ledgerOf(c)).resolves.toEqual([
    { key: 'call/reflect/1/1', entry: 'release', unit: 'llm-tokens', amount: 85 },
    { key: 'call/reflect/1/1', entry: 'release', unit: 'usd', amount: expect.closeTo(0.009, 12) },
    { key: 'call/reflect/1/1', entry: 'reserve', unit: 'llm-tokens', amount: 100 },
    { key: 'call/reflect/1/1', entry: 'reserve', unit: 'usd', amount: 0.01 },
    { key: 'call/reflect/1/1', entry: 'settle', unit: 'llm-tokens', amount: 15 },
    { key: 'call/reflect/1/1', entry: 'settle', unit: 'usd', amount: 0.001 },
  ]);
});

type Entry = { key: string; entry: 'reserve' | 'settle' | 'release'; unit: 'llm-tokens' | 'usd'; amount: number };

async function ledgerOf({ campaignId }: ModelCampaign): Promise<Entry[]> {
  const { rows } = await database.pool.query<Entry>(
    'select key, entry, unit, amount from ledger where campaign_id = $1 order by key, entry, unit',
    [campaignId],
  );
  return rows;
}

test('an answered call is not reserved again, and its answer is returned', async () => {
  const c = await campaign();
  const call = modelCall(c.key, 'reflect/1');
  await expect(c.store.modelCalls.find(call)).resolves.toBeUndefined();
  await c.store.modelCalls.reserve(call, estimate);
  await c.store.modelCalls.settle(call, 1, settlement());
  const answer = settlement().answer;
  await expect(c.store.modelCalls.find(call)).resolves.toEqual({ answer });
  await expect(c.store.modelCalls.reserve(call, estimate)).resolves.toEqual({ kind: 'answered', answer });
});

test('the first answer of a call is kept even if a newer prompt differs; the second is paid and counts as waste', async () => {
  const c = await campaign();
  const call = modelCall(c.key, 'reflect/1');
  const newer = { ...call, requestSha256: 'another', prompt: 'reflection@2' };
  await c.store.modelCalls.reserve(call, estimate);
  await expect(c.store.modelCalls.reserve(newer, estimate)).resolves.toEqual({ ...reserved, request: 2 });
  const second = settlement({ answer: { kind: 'text', text: 'eight' }, promptTokens: 20, usd: 0.002 });
  await expect(c.store.modelCalls.settle(newer, 2, second)).resolves.toEqual(second.answer);
  await expect(c.store.modelCalls.settle(call, 1, settlement())).resolves.toEqual(second.answer);
  await expect(committed(c)).resolves.toEqual({ llmTokens: 40, usd: expect.closeTo(0.003, 12) });
  await expect(c.store.modelCalls.getWaste(c.campaignId)).resolves.toEqual({
    confirmed: { calls: 1, tokens: 15, usd: 0.001 },
    unconfirmed: { calls: 0, tokens: 0, usd: 0 },
  });
});

test('settling or releasing a request twice changes nothing', async () => {
  const c = await campaign();
  const [one, two] = [modelCall(c.key, 'one'), modelCall(c.key, 'two')];
  for (const call of [one, two]) await c.store.modelCalls.reserve(call, estimate);
  for (let i = 0; i < 3; i++) {
    await c.store.modelCalls.settle(one, 1, settlement({ promptTokens: 10 * (i + 1) }));
    await c.store.modelCalls.release(two, 1);
    await c.store.modelCalls.release(one, 1);
  }
  await expect(committed(c)).resolves.toEqual({ llmTokens: 15, usd: expect.closeTo(0.001, 12) });
});

test('an answer with invalid characters is stored with replacement characters', async () => {
  const c = await campaign();
  const call = modelCall(c.key, 'reflect/1');
  await c.store.modelCalls.reserve(call, estimate);
  const stored = await c.store.modelCalls.settle(
    call,
    1,
    settlement({ answer: { kind: 'text', text: 'a\0b\ud800c' } }),
  );
  expect(stored).toEqual({ kind: 'text', text: 'a\uFFFDb\uFFFDc' });
});

describe('a limit', () => {
  test('rejects a call that does not fit, with the next command', async () => {
    const c = await campaign({ llmTokens: 250, usd: 1 });
    for (const id of ['a', 'b']) {
      await c.store.modelCalls.reserve(modelCall(c.key, id), estimate);
      await c.store.modelCalls.settle(modelCall(c.key, id), 1, settlement({ promptTokens: 95 }));
    }
    await expect(c.store.modelCalls.reserve(modelCall(c.key, 'c'), estimate)).rejects.toMatchObject({
      name: 'DomainError',
      code: 'BudgetReached',
      message: `the budget of language models is reached: 200 of 250 tokens are committed, and the next call may take 100 tokens ($0.0100); continue with \`coevolve budget raise ${c.name} --tokens 250\`; in iteration 1 of 12 this spending suggests at least 3,600 tokens for the whole campaign`,
    });
  });

  test('in dollars rejects a call that does not fit', async () => {
    const c = await campaign({ usd: 0.015 });
    await c.store.modelCalls.reserve(modelCall(c.key, 'a'), estimate);
    await c.store.modelCalls.settle(modelCall(c.key, 'a'), 1, settlement({ usd: 0.009 }));
    await expect(c.store.modelCalls.reserve(modelCall(c.key, 'b'), estimate)).rejects.toMatchObject({
      message: expect.stringMatching(
        /reached: \$0\.00900 of \$0\.0150 are committed, .* --usd 0\.0150`; .* \$0\.228 for the whole/,
      ),
    });
  });

  test('of zero rejects the first call', async () => {
    const c = await campaign({ llmTokens: 0 });
    await expect(c.store.modelCalls.reserve(modelCall(c.key, 'a'), estimate)).rejects.toMatchObject({
      message: expect.stringContaining('0 of 0 tokens are committed'),
    });
  });

  test('is busy, not reached, while open reservations fill it', async () => {
    const c = await campaign({ llmTokens: 150 });
    const [a, b] = [modelCall(c.key, 'a'), modelCall(c.key, 'b')];
    await c.store.modelCalls.reserve(a, estimate);
    await expect(c.store.modelCalls.reserve(b, estimate)).resolves.toEqual({ kind: 'busy' });
    await c.store.modelCalls.settle(a, 1, settlement());
    await expect(c.store.modelCalls.reserve(b, estimate)).resolves.toEqual(reserved);
  });

  test('counts a reservation whose request has timed out', async () => {
    const c = await campaign({ llmTokens: 150 });
    await c.store.modelCalls.reserve(modelCall(c.key, 'a'), estimate);
    await database.pool.query(
      `update model_requests set reserved_at = reserved_at - interval '121 s' where campaign_id = $1`,
      [c.campaignId],
    );
    await expect(c.store.modelCalls.reserve(modelCall(c.key, 'b'), estimate)).rejects.toMatchObject({
      code: 'BudgetReached',
    });
  });

  test('in dollars admits three calls of a third each', async () => {
    const c = await campaign({ usd: 0.3 });
    for (const id of ['a', 'b', 'c'])
      await expect(c.store.modelCalls.reserve(modelCall(c.key, id), { llmTokens: 1, usd: 0.1 })).resolves.toEqual(
        reserved,
      );
  });
});

describe('a later run of the iteration', () => {
  test('reuses the answer to the same request and sends a request that differs', async () => {
    const c = await campaign();
    for (const id of ['same', 'differs']) {
      await c.store.modelCalls.reserve(modelCall(c.key, id), estimate);
      await c.store.modelCalls.settle(modelCall(c.key, id), 1, settlement());
    }
    const key = await raiseEpoch(database.pool, c.key);
    const differs = modelCall(key, 'differs', { requestSha256: 'another' });
    await expect(c.store.modelCalls.find(modelCall(key, 'same'))).resolves.toEqual({ answer: settlement().answer });
    await expect(c.store.modelCalls.reserve(differs, estimate)).resolves.toEqual({ ...reserved, request: 2 });
    const answer = { kind: 'text', text: 'nine' };
    await expect(c.store.modelCalls.settle(differs, 2, settlement({ answer }))).resolves.toEqual(answer);
    await expect(c.store.modelCalls.getWaste(c.campaignId)).resolves.toMatchObject({
      confirmed: { calls: 1, tokens: 15 },
    });
  });

  test('fences the earlier run, whose answer is paid and not stored', async () => {
    const c = await campaign();
    const call = modelCall(c.key, 'late');
    await c.store.modelCalls.reserve(call, estimate);
    await raiseEpoch(database.pool, c.key);
    const stale = { name: 'DomainError', code: 'StaleEpoch' };
    await expect(c.store.modelCalls.settle(call, 1, settlement())).rejects.toMatchObject(stale);
    await expect(c.store.modelCalls.reserve(modelCall(c.key, 'next'), estimate)).rejects.toMatchObject(stale);
    await expect(c.store.modelCalls.getWaste(c.campaignId)).resolves.toMatchObject({
      confirmed: { calls: 1, tokens: 15 },
    });
    await expect(committed(c)).resolves.toEqual({ llmTokens: 15, usd: expect.closeTo(0.001, 12) });
  });
});

describe('a request without a response', () => {
  const unconfirmed = async (c: ModelCampaign) => (await c.store.modelCalls.getWaste(c.campaignId)).unconfirmed;
  const none = { calls: 0, tokens: 0, usd: 0 };
  const one = { calls: 1, tokens: 100, usd: 0.01 };

  test('can be in flight, and is waste once its call has another request', async () => {
    const c = await campaign();
    const call = modelCall(c.key, 'reflect/1');
    await c.store.modelCalls.reserve(call, estimate);
    await expect(unconfirmed(c)).resolves.toEqual(none);
    await c.store.modelCalls.reserve(call, estimate);
    await expect(unconfirmed(c)).resolves.toEqual(one);
    await c.store.modelCalls.settle(call, 2, settlement());
    await expect(unconfirmed(c)).resolves.toEqual(one);
    await expect(c.store.modelCalls.listUnconfirmed(c.campaignId)).resolves.toMatchObject([
      { requestId: `${c.name}/reflect/1/1`, iteration: 1, purpose: 'reflector', provider: 'scripted', tokens: 100 },
    ]);
    await expect(committed(c)).resolves.toEqual({ llmTokens: 115, usd: expect.closeTo(0.011, 12) });
  });

  test('is waste when its phase is committed', async () => {
    const c = await campaign();
    const phase = { ...c.key, phase: 'plan', previous: null } as const;
    await c.store.iterations.beginPhase(phase);
    await c.store.modelCalls.reserve(modelCall(c.key, 'reflect/1'), estimate);
    await expect(unconfirmed(c)).resolves.toEqual(none);
    await c.store.iterations.commitPhase(phase, {});
    await expect(unconfirmed(c)).resolves.toEqual(one);
  });

  test('is confirmed when its response arrives later', async () => {
    const c = await campaign();
    const call = modelCall(c.key, 'reflect/1');
    for (let i = 0; i < 2; i++) await c.store.modelCalls.reserve(call, estimate);
    for (const number of [2, 1]) await c.store.modelCalls.settle(call, number, settlement());
    await expect(c.store.modelCalls.getWaste(c.campaignId)).resolves.toEqual({
      confirmed: { calls: 1, tokens: 15, usd: 0.001 },
      unconfirmed: none,
    });
  });
});

test('spending is listed by iteration, purpose, provider and model', async () => {
  const c = await campaign();
  const pay = async (callId: string, changes: object, more: object = {}) => {
    const call = modelCall(c.key, callId, changes);
    await c.store.modelCalls.reserve(call, estimate);
    await c.store.modelCalls.settle(call, 1, settlement(more));
  };
  await pay('a', { purpose: 'explorer' });
  await pay('b', { purpose: 'explorer' }, { estimated: true });
  await pay('c', { purpose: 'judge', model: 'strict' });
  await c.store.modelCalls.reserve(modelCall(c.key, 'open'), estimate);
  const group = { iteration: 1, provider: 'scripted' };
  await expect(c.store.modelCalls.listSpending(c.campaignId)).resolves.toEqual([
    {
      ...group,
      purpose: 'explorer',
      model: 'scripted-chat',
      calls: 2,
      tokens: 30,
      usd: 0.002,
      seconds: 1,
      estimated: 1,
    },
    { ...group, purpose: 'judge', model: 'strict', calls: 1, tokens: 15, usd: 0.001, seconds: 0.5, estimated: 0 },
  ]);
});

test('the total of tokens and seconds leaves out model calls', async () => {
  const c = await campaign();
  await c.store.ledger.settle(c.key, 'iteration/1/rollout', { tokens: 7, seconds: 2 });
  await c.store.modelCalls.reserve(modelCall(c.key, 'a'), estimate);
  await c.store.modelCalls.settle(modelCall(c.key, 'a'), 1, settlement());
  await expect(c.store.ledger.getTotal(c.campaignId)).resolves.toEqual({ tokens: 7, seconds: 2 });
});

type Step = { do: 'reserve' | 'settle' | 'release' | 'lose'; call: number; tokens: number; underestimate: boolean };

const steps = fc.array(
  fc.record<Step>({
    do: fc.constantFrom('reserve', 'reserve', 'reserve', 'settle', 'settle', 'release', 'lose'),
    call: fc.integer({ min: 0, max: 5 }),
    tokens: fc.integer({ min: 0, max: 300 }),
    underestimate: fc.boolean(),
  }),
  { minLength: 1, maxLength: 10 },
);

const perToken = 1e-5; // dollars

test('the budget balances after every step of two workers, and only underestimates exceed it', async () => {
  const other = createPool(database.url, 2);
  const stores = [createStore(database.pool), createStore(other)];
  const c = await campaign({ llmTokens: 0, usd: 0 });
  const property = fc.asyncProperty(fc.integer({ min: 0, max: 800 }), steps, async (limit, script) => {
    await resetBudget(c, { llmTokens: limit, usd: limit * perToken });
    const open: { call: ReturnType<typeof modelCall>; request: number; tokens: number }[] = [];
    let underestimated = 0;
    for (const [index, step] of script.entries()) {
      const { modelCalls } = stores[index % 2]!;
      const call = modelCall(c.key, `call-${step.call}`, { timeoutSeconds: 0 }); // open requests count as lost
      if (step.do === 'reserve') {
        const needed = { llmTokens: step.tokens, usd: step.tokens * perToken };
        const got = await modelCalls.reserve(call, needed).catch((error: { code?: string }) => error);
        if ('kind' in got && got.kind === 'reserved') open.push({ call, request: got.request, tokens: step.tokens });
        else if ('code' in got) expect(got.code).toBe('BudgetReached');
      } else if (open.length > 0) {
        const [one] = open.splice(step.call % open.length, 1);
        const real = step.underestimate ? one!.tokens + (step.tokens % 50) : step.tokens % (one!.tokens + 1);
        if (step.do === 'release') await modelCalls.release(one!.call, one!.request);
        if (step.do === 'settle') {
          underestimated += Math.max(0, real - one!.tokens);
          const spent = { promptTokens: real, completionTokens: 0, usd: real * perToken };
          await modelCalls.settle(one!.call, one!.request, settlement(spent));
        }
      }
      await expectBalance(c, limit + underestimated);
    }
  });
  await fc.assert(property, { numRuns: runsAll ? 1_000 : 250 });
  await other.end();
}, 300_000);

/** Deletes all calls and costs: creating a campaign per case would take longer than the case. */
async function resetBudget({ campaignId }: ModelCampaign, budget: Spending): Promise<void> {
  for (const table of ['model_calls', 'model_requests', 'ledger', 'budgets'])
    await database.pool.query(`delete from ${table} where campaign_id = $1`, [campaignId]);
  await database.pool.query(`update campaigns set spec = jsonb_set(spec, '{budget}', $2) where id = $1`, [
    campaignId,
    budget,
  ]);
}

/** committed = reserved + underestimated - released, in both units, and at maxTokens `maxTokens`. */
async function expectBalance(c: ModelCampaign, maxTokens: number): Promise<void> {
  const { spent, entries } = await booksOf(c);
  const sums = { 'llm-tokens': 0, usd: 0 };
  const requests = new Map<string, Partial<Record<Entry['entry'], number>>>();
  for (const { key, unit, entry, amount } of entries) {
    const id = `${unit} of ${key}`;
    requests.set(id, { ...requests.get(id), [entry]: amount });
  }
  for (const [id, { reserve, settle, release = 0 }] of requests) {
    const unit = id.startsWith('usd') ? 'usd' : 'llm-tokens';
    expect(reserve).toBeDefined();
    if (settle !== undefined) expect(settle + release).toBeCloseTo(Math.max(reserve!, settle), 9);
    else expect([0, reserve]).toContain(release);
    sums[unit] += settle ?? reserve! - release;
  }
  expect(spent.llmTokens).toBe(sums['llm-tokens']);
  expect(spent.usd).toBeCloseTo(sums.usd, 9);
  expect(spent.llmTokens).toBeLessThanOrEqual(maxTokens);
}

/** Returns budget and ledger from one snapshot. */
async function booksOf({ campaignId }: ModelCampaign): Promise<{ spent: Spending; entries: Entry[] }> {
  const { rows } = await database.pool.query<{ spent: Spending; entries: Entry[] }>(
    `select jsonb_build_object('llmTokens', b.llm_tokens, 'usd', b.usd) as spent,
       (select coalesce(jsonb_agg(l), '[]') from ledger l where l.campaign_id = b.campaign_id) as entries
     from budgets b where b.campaign_id = $1`,
    [campaignId],
  );
  return rows[0] ?? { spent: { llmTokens: 0, usd: 0 }, entries: [] };
}
