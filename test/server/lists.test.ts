import type { z } from 'zod';
import { resources } from '../../src/server/app';
import { describeViews } from '../../src/store/reporting/describe-views';
import { ids } from '../store/support/campaign-rows';
import { attempt, task, type NewCampaign } from '../store/support/new-campaign';
import { tokens, type TestServer } from './running-server';
import { experimentName, serveCampaign } from './served-campaign';

type Page = { rows: Record<string, unknown>[]; next: string | null };

let campaign: NewCampaign;
let server: TestServer;
beforeAll(async () => {
  const served = await serveCampaign();
  ({ campaign, server } = served);
  return served.close;
});

const pathOf = (template: string): string =>
  `/api/v1${template.replace('{campaign}', campaign.name).replace('{experiment}', experimentName)}`;

const rowsOf = async (path: string): Promise<Record<string, unknown>[]> => (await server.get<Page>(path)).rows;

test.each(resources)('the rows of $path have the declared shape, with their details', async ({ path, row }) => {
  const strict = row.strict();
  for (const query of ['', ...(hasDetails(row) ? ['?detail=true'] : [])]) {
    const rows = await rowsOf(`${pathOf(path)}${query}`);
    expect(rows.length).toBeGreaterThan(0);
    for (const one of rows) expect(strict.parse(one)).toEqual(one);
  }
});

const hasDetails = (row: z.ZodObject): boolean =>
  Object.values(row.shape).some((column) => (column as z.ZodType).def.type === 'optional');

test.each(resources)('the declared columns of $path are the columns of the view', async ({ view, row }) => {
  const described = (await describeViews(campaign.pool)).find(({ name }) => name === view);
  expect(described!.columns.map(({ name }) => name)).toEqual(Object.keys(row.shape));
});

test.each(resources.filter(({ item }) => item))('a row of $path is found by its $item', async ({ path, item, row }) => {
  const [first] = await rowsOf(pathOf(path));
  const id = String(first![item === 'campaign' || item === 'experiment' ? 'name' : item!]);
  const found = await server.get(`${pathOf(path)}/${encodeURIComponent(id)}`);
  expect(found).toMatchObject(first!);
  expect(row.strict().parse(found)).toEqual(found);
});

test.each([
  ['attempts?purpose=train&max_reward=0', 1],
  ['attempts?purpose=train&min_reward=0.5', 0],
  ['attempts?signal=forgetting', 1],
  [`attempts?policy_id=${ids.start.slice(0, 8)}`, 1],
  ['tasks?verdict=admitted&split=held-out', 1],
  ['tasks?parent_signal=forgetting', 1],
  ['tasks?parent_signal=rare', 0],
  ['tasks?goal=MANY%20held', 1],
  ['tasks?goal=many_held', 0],
  [`pairs?rejected_id=${encodeURIComponent(ids.failed)}`, 1],
  [`training-examples?pair_id=${encodeURIComponent(ids.pair)}`, 1],
  ['policies?active=true', 1],
  ['verdicts?passed=false', 0],
])('the filter %s keeps %i rows', async (path, count) => {
  expect(await rowsOf(pathOf(`/campaigns/{campaign}/${path}`))).toHaveLength(count);
});

test('pages have each row once while rows are inserted and deleted', async () => {
  const { store, key } = campaign;
  const names = Array.from({ length: 25 }, (_, i) => `paged-${String(i).padStart(2, '0')}`);
  await store.tasks.seed(
    key,
    names.map((name) => task(name)),
  );
  const add = (taskId: string, reward: number) =>
    store.trajectories.save(attempt(key, { purpose: 'train', policyId: ids.start, taskId, reward }));
  for (const name of names.slice(0, 20)) await add(name, 0.25);
  const seen: string[] = [];
  let next: string | null = null;
  do {
    const cursor: string = next === null ? '' : `&cursor=${next}`;
    const page: Page = await server.get(
      pathOf(`/campaigns/{campaign}/attempts?limit=3&min_reward=0.25&max_reward=0.25${cursor}`),
    );
    seen.push(...page.rows.map(({ task_id: id }) => String(id)));
    next = page.next;
    const inserted = names[20 + (seen.length % 5)]!;
    await add(inserted, 0.25).catch(() => undefined);
  } while (next !== null);
  const before = seen.filter((name) => names.indexOf(name) < 20);
  expect(before).toEqual(names.slice(0, 20).reverse());
  expect(new Set(seen).size).toBe(seen.length);
});

test.each([
  ['attempts?limit=0', 'limit', '"0"', 'a whole number from 1 to 1000'],
  ['attempts?limit=1001', 'limit', '"1001"', 'a whole number from 1 to 1000'],
  ['attempts?sort=reward', 'iteration', null, 'a value beside sort=reward'],
  ['attempts?iteration=32768', 'iteration', '"32768"', 'a whole number from 0 to 32767'],
  ['attempts?outcom=scored', 'outcom', 'an unknown key', /document/],
  ['attempts?min_reward=2', 'min_reward', '"2"', 'a number from 0 to 1'],
  ['tasks?verdict=good', 'verdict', '"good"', 'one of admitted, candidate, rejected'],
  ['attempts?cursor=x', 'cursor', 'another text', /next/],
  [`attempts?cursor=${Buffer.from('["x","y"]').toString('base64url')}`, 'cursor', 'another text', /next/],
])('%s is refused with its field, value and expectation', async (path, field, found, expected) => {
  const response = await server.request(pathOf(`/campaigns/{campaign}/${path}`));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    field,
    found,
    expected: typeof expected === 'string' ? expected : expect.stringMatching(expected),
  });
});

test.each([
  ['/api/v1/campaigns/none/tasks', 'UnknownCampaign'],
  ['/api/v1/campaigns/none', 'UnknownCampaign'],
  ['/api/v1/experiments/none/cells', 'UnknownExperiment'],
  ['/api/v1/nothing', 'UnknownRoute'],
])('%s is not found', async (path, code) => {
  const response = await server.request(path);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ code, next: expect.any(String) });
});

test.each([
  ['POST', 'attempts', 'GET, HEAD'],
  ['DELETE', 'tasks/first', 'GET, HEAD'],
])('%s %s is refused with the methods of the path', async (method, path, allowed) => {
  const headers = { authorization: `Bearer ${tokens.operate}` };
  const response = await server.request(pathOf(`/campaigns/{campaign}/${path}`), { method, headers });
  expect([response.status, response.headers.get('allow')]).toEqual([405, allowed]);
  expect(await response.json()).toMatchObject({ code: 'MethodNotAllowed', found: method });
});

test('a value that is no text of Postgres is refused', async () => {
  const response = await server.request(pathOf('/campaigns/{campaign}/tasks?reason=%00'));
  expect(response.status).toBe(400);
});

test('the OpenAPI document describes each column by its comment', async () => {
  const document = await server.get<{
    openapi: string;
    paths: Record<string, unknown>;
    components: { schemas: Record<string, { properties: Record<string, { description?: string }> }> };
  }>('/api/v1/openapi.json');
  expect(document.openapi).toBe('3.1.0');
  for (const { name, path, row } of resources) {
    expect(document.paths).toHaveProperty([`/api/v1${path}`]);
    for (const column of Object.keys(row.shape))
      expect([name, column, document.components.schemas[name]!.properties[column]!.description]).toEqual([
        name,
        column,
        expect.stringMatching(/./),
      ]);
  }
});
