import { ApplicationFailure } from '@temporalio/activity';
import { recordOperatorCommand } from '../../src/activities/campaign/record-operator-command';
import type { Activities } from '../../src/activities';
import type { Connections } from '../../src/client/connections';
import type { RecipeName } from '../../src/domain/campaign/recipe';
import { StackError } from '../../src/errors/errors';
import { planOf } from '../../src/specification/iteration-plan';
import { resolveSpec } from '../../src/specification/read-spec';
import { createStore } from '../../src/store';
import { candidate } from '../store/support/new-campaign';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { hangTimeoutMs, until } from '../support/stack';
import { environment, scriptedActivities } from '../workflows/scripted-activities';
import { scriptedCampaigns, type ScriptedCampaigns } from '../workflows/scripted-campaigns';
import { connectionsTo, runServer, tokens, type TestServer } from './running-server';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

let database: FreshDatabase;
let campaigns: ScriptedCampaigns;
let server: TestServer;
let isTemporalAway = false;
const releases: (() => void)[] = [];
beforeAll(async () => {
  [database, campaigns] = await Promise.all([freshDatabase(), scriptedCampaigns()]);
  const temporal: Connections['temporal'] = () =>
    isTemporalAway
      ? Promise.reject(new StackError('no Temporal server', 'coevolve up'))
      : Promise.resolve(campaigns.client);
  server = await runServer(database.url, {
    connections: connectionsTo(database.url, temporal),
    limits: { requests: { burst: 1000, perSecond: 100 }, orders: { burst: 1000, perSecond: 100 } },
  });
});
afterAll(async () => {
  for (const release of releases) release();
  await server?.close();
  await campaigns?.remove();
  await database?.drop();
});

/** Stores a campaign with its first iteration. */
async function storedCampaign(name: string, recipe: RecipeName) {
  const store = createStore(database.pool);
  const spec = resolveSpec({ name, seed: 1, environment: { name: environment }, recipe, iterations: 0 }, name);
  const { id } = await store.campaigns.save({ name, recipe, environment, spec, specHash: name, seed: 1 });
  return { id, spec, key: { campaignId: id, iteration: 0, epoch: await store.iterations.open(id, 0) } };
}

/** Starts a campaign that is held in its rollouts until the returned function is called. */
async function heldCampaign(name: string): Promise<() => void> {
  const store = createStore(database.pool);
  const { id, spec } = await storedCampaign(name, 'eto');
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  releases.push(release);
  const changes: Partial<Activities> = {
    openIteration: ({ iteration, epoch }) => Promise.resolve({ epoch: epoch ?? 1, ...planOf(spec, iteration) }),
    collectRollouts: () => released.then(() => ({ attempts: 1, reused: 0 })),
    recordOperatorCommand: recordOperatorCommand({ store }),
    closeCampaign: ({ campaignId, status }) => store.campaigns.setStatus(campaignId, status),
  };
  const script = scriptedActivities(name, changes, { iterations: 0 });
  await campaigns.start(name, { recipe: 'eto', iterations: 0, campaignId: id }, script);
  await until(async () => script.callsOf('collectRollouts').length > 0);
  return release;
}

type Answer = { status: number; body: Record<string, unknown> };

async function order(body: object, token = tokens.operate): Promise<Answer> {
  const response = await server.request('/api/v1/orders', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const countOf = async (table: 'orders' | 'events'): Promise<number> =>
  (await database.pool.query<{ count: number }>(`select count(*)::integer as count from ${table}`)).rows[0]!.count;

const eventsOf = async (name: string) =>
  (
    await database.pool.query<{ kind: string; actor: string; reason: string }>(
      `select e.kind, e.actor, e.detail ->> 'reason' as reason from events e join campaigns c on c.id = e.campaign_id
       where c.name = $1 order by e.id`,
      [name],
    )
  ).rows;

test('an order is done with its actor and reason, once, however often it is requested', async () => {
  const release = await heldCampaign('paused');
  const pause = { kind: 'pause', campaign: 'paused', reason: 'lunch', actor: 'ada', request_id: 'pause-1' };
  const answers = await Promise.all([order(pause), order(pause), order(pause)]);
  for (const { status, body } of answers) {
    expect(status).toBe(200);
    expect(body).toMatchObject({ state: 'done', actor: 'ada (API)', answer: { status: 'paused' } });
  }
  expect(await eventsOf('paused')).toEqual([{ kind: 'paused', actor: 'ada (API)', reason: 'lunch' }]);
  expect((await server.get('/api/v1/campaigns/paused'))['waits_for']).toBe('paused by ada (API): lunch');
  expect(await server.get('/api/v1/orders/pause-1')).toEqual(answers[0].body);
  const resumed = await order({ ...pause, kind: 'resume', request_id: 'resume-1' });
  expect(resumed.body).toMatchObject({ state: 'done', answer: { status: 'running' } });
  release();
});

/** Sends a form of the page as a browser does. */
const post = (path: string, form: [string, string][], { token = tokens.operate, origin = server.url } = {}) =>
  fetch(`${server.url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: `coevolve_token=${token}`, origin },
    body: new URLSearchParams(form),
  });

const pageOf = async (path: string): Promise<string> =>
  (await fetch(`${server.url}${path}`, { headers: { cookie: `coevolve_token=${tokens.operate}` } })).text();

test('the page gives an order of its visitor, and shows it as its row says', async () => {
  const release = await heldCampaign('seen');
  const pause: [string, string][] = Object.entries({ kind: 'pause', reason: 'lunch', request_id: 'page-1' });
  const answer = await post('/c/seen/order', pause);
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/c/seen?order=page-1']);
  expect((await eventsOf('seen')).map(({ kind, reason }) => [kind, reason])).toEqual([['paused', 'lunch']]);
  expect(await pageOf('/c/seen?order=page-1')).toMatch(/pause by .* \(lunch\): asked .*<strong>done<\/strong>/s);
  expect(await pageOf('/c/seen/order')).toMatch(/<option value="resume" selected>/); // the order that a paused one needs
  release();
});

test.each([
  ['a reader', { token: tokens.read, origin: undefined }],
  ['another origin', { origin: 'https://evil.example' }],
  ['a browser that hides its page', { origin: 'null' }],
])('the form of %s is refused, and shown again as it was filled in', async (_who, visitor) => {
  const release = await heldCampaign(`refused-${visitor.origin ?? 'reader'}`.replaceAll(/\W/g, '-'));
  const before = await countOf('orders');
  const stop: [string, string][] = [['kind', 'stop'], ['reason', '<b>enough'], ['request_id', 'page-2']]; // oxfmt-ignore
  const refused = await post('/c/seen/order', stop, visitor);
  const page = await refused.text();
  expect([refused.status, page]).toEqual([
    403,
    expect.stringMatching(/role="alert" class="problem">(origin|authorization): /),
  ]);
  expect(page).toContain('<option value="stop" selected>');
  expect(page).toContain('value="&lt;b&gt;enough"');
  expect(await countOf('orders')).toBe(before);
  release();
});

test('a refused fork is shown again with its settings', async () => {
  const release = await heldCampaign('forked');
  const settings = 'rollouts.attempts=2\r\nsignals.rare.enabled=false';
  const fork = Object.entries({ kind: 'fork', name: 'next', from_iteration: '7', set: settings, request_id: 'f' });
  const refused = await post('/c/forked/order', [...fork, ['reason', 'other settings']]);
  const page = await refused.text();
  expect([refused.status, page]).toEqual([400, expect.stringContaining('--from-iteration: found 7')]);
  for (const kept of ['value="next"', 'value="7"', settings]) expect(page).toContain(kept);
  release();
});

/** Starts a campaign that parks in a phase because an operator has to approve. */
async function waitingCampaign(name: string, activity: 'admitTasks' | 'evaluatePolicy'): Promise<void> {
  const refuse = (): Promise<never> =>
    Promise.reject(ApplicationFailure.nonRetryable(`${name} waits for approval`, 'ApprovalNeeded'));
  const { id, key } = await storedCampaign(name, 'coevolve');
  const store = createStore(database.pool);
  for (const task of ['good', 'bad']) await store.tasks.propose(key, [candidate(task, { contentKey: task })]);
  const changes = { [activity]: refuse, recordOperatorCommand: recordOperatorCommand({ store }) };
  const script = scriptedActivities(name, changes, { iterations: 1 });
  await campaigns.start(name, { recipe: 'coevolve', iterations: 1, campaignId: id }, script);
  await campaigns.parked(name);
  await store.campaigns.setStatus(id, 'parked');
}

test('tasks are approved on their page, and a refused review keeps its marks', async () => {
  await waitingCampaign('tasks', 'admitTasks');
  expect(await pageOf('/c/tasks')).toMatch(/<a href="\/c\/tasks\/approvals">approve or reject<\/a> · <a/);
  expect(await pageOf('/c/tasks/approvals')).toContain(
    '<a href="/c/tasks/attempts?task_id=good">attempts and observations</a>',
  );
  const review: [string, string][] = [['kind', 'approve'], ['reject', 'bad'], ['reason', 'read'], ['verdict', 'admit']]; // oxfmt-ignore
  const refused = await (await post('/c/tasks/order', [...review, ['request_id', 'r1']], { origin: 'null' })).text();
  expect(refused).toMatch(/value="bad" checked \/>/);
  expect(refused).toMatch(/value="good" +\/>/);
  const answer = await post('/c/tasks/order', [...review, ['request_id', 'r2']]);
  expect(answer.status).toBe(303);
  expect(await server.get('/api/v1/orders/r2')).toMatchObject({ answer: { summary: '1 tasks approved, 1 rejected' } });
});

test('a trained policy is promoted or not by a button of its own', async () => {
  await waitingCampaign('policy', 'evaluatePolicy');
  const page = await pageOf('/c/policy/approvals');
  expect(page).toContain('policy waits for approval');
  expect(page).toContain('<a href="/c/policy/flips">tasks that flipped</a>');
  expect(page).not.toContain('reject');
  const keep: [string, string][] = [['kind', 'approve'], ['reason', 'worse'], ['verdict', 'keep'], ['request_id', 'k']]; // oxfmt-ignore
  expect((await post('/c/policy/order', keep)).status).toBe(303);
  expect(await server.get('/api/v1/orders/k')).toMatchObject({ answer: { summary: 'the active policy is kept' } });
});

test('a request id belongs to one order', async () => {
  const again = await order({ kind: 'stop', campaign: 'paused', reason: 'lunch', actor: 'ada', request_id: 'pause-1' });
  expect(again).toMatchObject({ status: 409, body: { code: 'RequestIdUsed', field: 'request_id' } });
});

test('a stop is accepted while the iteration runs, and done when the campaign has ended', async () => {
  const release = await heldCampaign('stopped');
  const stop = { kind: 'stop', campaign: 'stopped', reason: 'enough', request_id: 'stop-1' };
  expect(await order(stop)).toMatchObject({ status: 200, body: { state: 'accepted', done_at: null } });
  release();
  await campaigns.ended('stopped');
  expect((await order(stop)).body).toMatchObject({ state: 'done', done_at: expect.any(String) });
});

test('an abort is done when the campaign has ended', async () => {
  await heldCampaign('aborted').then((release) => releases.push(release));
  const abort = order({ kind: 'abort', campaign: 'aborted', reason: 'wrong data', request_id: 'abort-1' });
  await until(async () => (await eventsOf('aborted')).some(({ kind }) => kind === 'aborting'));
  for (const release of releases) release(); // it waits until its activities have stopped
  expect(await abort).toMatchObject({ status: 200, body: { state: 'done', answer: { status: 'aborted' } } });
});

test.each([
  ['skip', { campaign: 'refusing' }, 409, 'NotSkippable'],
  ['pause', { campaign: 'none' }, 404, 'UnknownCampaign'],
  ['approve', { campaign: 'refusing' }, 409, 'NothingToApprove'],
  ['raise-budget', { campaign: 'refusing', usd: 1 }, 409, 'NoLimit'],
  ['raise-budget', { campaign: 'refusing' }, 400, 'UsageError'],
  ['fork', { campaign: 'forked', source: 'none', from_iteration: 0 }, 404, 'UnknownCampaign'],
  [
    'start',
    { campaign: 'new', spec: 'name: other\nenvironment: {name: intercode-sql}\nrecipe: sft' },
    400,
    'InvalidSpec',
  ],
  ['start', { campaign: 'new', spec: { name: 'new', recipe: 'magic' } }, 400, 'InvalidSpec'],
  ['start', { campaign: 'new', spec: 'extends: /etc/passwd\nname: new' }, 400, 'InvalidSpec'],
])('the refused order %s %j leaves no row', async (kind, input, status, code) => {
  if (!(await createStore(database.pool).campaigns.find('refusing'))) await heldCampaign('refusing');
  const before = [await countOf('orders'), await countOf('events'), await campaignCount()];
  const answer = await order({ kind, reason: 'test', request_id: `refused-${kind}`, ...input });
  expect(answer).toMatchObject({ status, body: { code, error: expect.any(String) } });
  expect([await countOf('orders'), await countOf('events'), await campaignCount()]).toEqual(before);
});

const campaignCount = async (): Promise<number> => (await database.pool.query('select from campaigns')).rowCount!;

test.each([
  [{ kind: 'pause', campaign: 'paused', request_id: 'x' }, 'reason'],
  [{ kind: 'pause', campaign: 'paused', reason: ' ', request_id: 'x' }, 'reason'],
  [{ kind: 'pause', campaign: 'paused', reason: 'test', request_id: 'a b' }, 'request_id'],
  [{ kind: 'explode', campaign: 'paused', reason: 'test', request_id: 'x' }, 'kind'],
  [{ kind: 'pause', campaign: '../x', reason: 'test', request_id: 'x' }, 'campaign'],
  [{ kind: 'pause', campaign: 'paused', reason: 'test', request_id: 'x', force: true }, 'force'],
])('the order %j is refused because of %s', async (body, field) => {
  const before = await countOf('orders');
  expect(await order(body)).toMatchObject({ status: 400, body: { code: 'InvalidRequest', field } });
  expect(await countOf('orders')).toBe(before);
});

test('an order whose outcome is not known stays, and the same request continues it', async () => {
  const release = await heldCampaign('away');
  const pause = { kind: 'pause', campaign: 'away', reason: 'test', request_id: 'away-1' };
  isTemporalAway = true;
  expect(await order(pause)).toMatchObject({ status: 503, body: { next: 'coevolve up' } });
  expect(await server.get('/api/v1/orders/away-1')).toMatchObject({ state: 'asked', accepted_at: null });
  isTemporalAway = false;
  expect(await order(pause)).toMatchObject({ status: 200, body: { state: 'done' } });
  release();
});

test('the role of readers gives no order, also not one of another origin', async () => {
  const before = await countOf('orders');
  const pause = { kind: 'pause', campaign: 'paused', reason: 'test', request_id: 'reader-1' };
  expect(await order(pause, tokens.read)).toMatchObject({ status: 403, body: { code: 'RoleNotAllowed' } });
  const response = await server.request('/api/v1/orders', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tokens.operate}`,
      origin: 'http://evil.example',
      'content-type': 'application/json',
    },
    body: JSON.stringify(pause),
  });
  expect([response.status, await response.json()]).toEqual([
    403,
    expect.objectContaining({ code: 'OriginNotAllowed' }),
  ]);
  expect(await countOf('orders')).toBe(before);
});
