import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readState } from '../../src/stack/stack-state';
import { describeOfAll } from '../support/lane';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';
import { tiny } from './small-campaigns';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

type Row = Record<string, unknown>;

// test/server/orders.test.ts has the other orders, on scripted campaigns.
describeOfAll('orders through the API of a stack', () => {
  let stack: TestStack;
  let url: string;
  let token: string;
  beforeAll(async () => {
    stack = await bringUpStack('orders');
    const { home } = stack.config;
    url = `http://127.0.0.1:${readState(home).ports.api}/api/v1`;
    token = readFileSync(path.join(home, 'secrets', 'api-operate-token'), 'utf8').trim();
  });
  afterAll(() => stack?.remove());

  async function ask(target: string, init: RequestInit = {}): Promise<Row> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}${target}`, { ...init, headers });
    const body = (await response.json()) as Row;
    if (response.status !== 200) throw new Error(`${target}: ${response.status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Gives an order twice, as a client does that lost the first answer; both answers are the same row. */
  async function order(kind: string, campaign: string, keys: object = {}): Promise<Row> {
    const body = { kind, campaign, reason: 'a test', request_id: `${kind}-${campaign}`, actor: 'ada', ...keys };
    const request = { method: 'POST', body: JSON.stringify(body) };
    const answer = await ask('/orders', request);
    expect(answer).toMatchObject({ kind, campaign, state: 'done', actor: 'ada (API)' });
    expect(await ask('/orders', request)).toEqual(answer);
    return answer['answer'] as Row;
  }

  const rowsOf = async (list: string): Promise<Row[]> => (await ask(`/campaigns/${list}`))['rows'] as Row[];

  test('start begins the campaign of a spec and its changes once', async () => {
    const spec = {
      ...tiny('ordered', 'eto', 1),
      promotion: { rule: 'always', approval: true },
      compute: { pricePerGpuHour: 1 },
      budget: { usd: 5 },
    };
    const answer = await order('start', 'ordered', { spec, set: ['rollouts.attempts=3'] });
    expect(answer).toMatchObject({ workflowId: 'campaign/ordered', outcome: 'started' });
    const campaign = await ask('/campaigns/ordered');
    expect(campaign).toMatchObject({ recipe: 'eto', iterations: 1, spec: { rollouts: { attempts: 3 } } });
  });

  test('raise-budget raises a limit once', async () => {
    expect(await order('raise-budget', 'ordered', { usd: 2 })).toMatchObject({ budget: { limit: { usd: 7 } } });
    expect(await rowsOf('ordered/events?kind=budget-raised')).toMatchObject([{ actor: 'ada (API)' }]);
  });

  test('approve promotes the policy for which the campaign is parked, and the campaign ends', async () => {
    await until(async () => (await ask('/campaigns/ordered'))['status'] === 'parked', 500);
    expect(await order('approve', 'ordered')).toEqual({ summary: 'the trained policy becomes active' });
    await stack.waitForEnd('ordered');
    expect(await ask('/campaigns/ordered')).toMatchObject({ status: 'finished', iteration: 1, waits_for: null });
    expect(await rowsOf('ordered/policies?role=target&iteration=1')).toMatchObject([
      { decision: 'promote', active: true },
    ]);
    expect(await rowsOf('ordered/events?kind=approved')).toMatchObject([{ actor: 'ada (API)' }]);
  });

  test('fork continues from an iteration with changes of the spec', async () => {
    const keys = { source: 'ordered', from_iteration: 0, set: ['promotion.approval=false'] };
    expect(await order('fork', 'forked', keys)).toMatchObject({ outcome: 'started' });
    await stack.waitForEnd('forked');
    const fork = await ask('/campaigns/forked');
    expect(fork).toMatchObject({ status: 'finished', forked_from: 'ordered', fork_iteration: 0 });
    const [start] = await rowsOf('forked/attempts?iteration=0&limit=1');
    expect(await ask(`/campaigns/ordered/attempts/${encodeURIComponent(String(start!['id']))}`)).toMatchObject({
      reward: start!['reward'],
    });
  });
});
